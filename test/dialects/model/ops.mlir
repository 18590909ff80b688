// Every op of the dialect survives text -> IR -> text, and generic form.
// RUN: plait-opt %s | FileCheck %s
// RUN: plait-opt %s | plait-opt | FileCheck %s
// RUN: plait-opt %s --mlir-print-op-generic | plait-opt | FileCheck %s

// CHECK: module attributes {model.family = "test", model.name = "ops", model.vocab_size = 11 : i64}
module attributes {model.name = "ops", model.family = "test", model.vocab_size = 11 : i64} {

// CHECK: model.param @w : tensor<8x8xf32> init normal
model.param @w : tensor<8x8xf32> init normal
// CHECK-NEXT: model.param @b : tensor<8xf32> init zeros {decay = false}
model.param @b : tensor<8xf32> init zeros {decay = false}
// CHECK-NEXT: model.param @"attn.weight#q" : tensor<8x8xf32> init normal
// CHECK-SAME: hf_base = 8 : i64, hf_name = "attn.weight", hf_shape = array<i64: 8, 24>, hf_sizes = array<i64: 8, 8>, hf_strides = array<i64: 1, 24>, init_std = 5.000000e-01 : f64
model.param @"attn.weight#q" : tensor<8x8xf32> init normal {hf_name = "attn.weight", hf_shape = array<i64: 8, 24>,
    hf_base = 8 : i64, hf_sizes = array<i64: 8, 8>, hf_strides = array<i64: 1, 24>, init_std = 0.5 : f64}

// CHECK-LABEL: model.block_def @forward forward
// CHECK-SAME: (%x: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>, %labels: tensor<?x?xi32>, %loss_scale: tensor<1xf32>)
// CHECK-SAME: params(%w: tensor<8x8xf32>, %b: tensor<8xf32>, %wd: tensor<2xf32>, %table: tensor<11x8xf32>)
model.block_def @forward forward
    (%x: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>, %labels: tensor<?x?xi32>, %loss_scale: tensor<1xf32>)
    params(%w: tensor<8x8xf32>, %b: tensor<8xf32>, %wd: tensor<2xf32>, %table: tensor<11x8xf32>) {
  // CHECK: model.linear %x, %w {segment = "attention"} : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %0 = model.linear %x, %w {segment = "attention"} : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.bias_add %0, %b : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  %1 = model.bias_add %0, %b : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  // CHECK: %y, %rstd = model.rms_norm %1, %b {eps = 2.500000e-01 : f64}
  %2, %r2 = model.rms_norm %1, %b {eps = 0.25 : f64} : (tensor<?x?x8xf32>, tensor<8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?xf32>)
  // By heads: one statistic per head.
  // CHECK: model.rms_norm %y, %wd {{.*}} -> (tensor<?x?x8xf32>, tensor<?x?x4xf32>)
  %3, %r3 = model.rms_norm %2, %wd {eps = 0.25 : f64} : (tensor<?x?x8xf32>, tensor<2xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x4xf32>)
  // CHECK: model.layer_norm {{.*}} -> (tensor<?x?x8xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
  %4, %m4, %r4 = model.layer_norm %3, %b, %b {eps = 0.25 : f64}
      : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
  // CHECK: model.rope {{.*}} {factor = 5.000000e-01 : f64, head_dim = 4 : i64, interleaved = true, inv_freq = array<f64: 1.000000e+00>, rotary_dim = 2 : i64, segment = "attention"}
  %5 = model.rope %4 {head_dim = 4 : i64, rotary_dim = 2 : i64, inv_freq = array<f64: 1.0>, factor = 0.5 : f64,
      interleaved = true, segment = "attention"} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.attention {{.*}} {causal = false, head_dim = 2 : i64, heads = 4 : i64, kv_heads = 4 : i64, scale = 5.000000e-01 : f64, window = 3 : i64}
  %o, %lse = model.attention %5, %4, %3 {heads = 4 : i64, kv_heads = 4 : i64, head_dim = 2 : i64, scale = 0.5 : f64,
      causal = false, window = 3 : i64} : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x4xf32>)
  // CHECK: model.activation relu2 %o :
  %6 = model.activation relu2 %o : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.gated_activation silu
  %7 = model.gated_activation silu %6, %o {segment = "mlp"} : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.add
  %8 = model.add %7, %6 : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.mul
  %9 = model.mul %8, %7 : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.scale {{.*}} {factor = 2.000000e+00 : f64}
  %10 = model.scale %9 {factor = 2.0 : f64} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.embedding %tokens, %table
  %11 = model.embedding %tokens, %table {segment = "embedding"} : (tensor<?x?xi32>, tensor<11x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.position_embedding
  %12 = model.position_embedding %11, %table {segment = "embedding"} : (tensor<?x?x8xf32>, tensor<11x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.row_max
  %m = model.row_max %12 : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  // CHECK: model.row_sum_exp
  %z = model.row_sum_exp %12, %m : (tensor<?x?x8xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK: model.row_pick
  %t = model.row_pick %12, %labels : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  // CHECK: %{{.*}}, %loss = model.cross_entropy
  %l, %loss = model.cross_entropy %m, %z, %t, %labels
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  // CHECK: model.generic "x[s b c], w[o c] -> y[s b o] | sum c"(%x, %w) kernel "gemm" : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %g = model.generic "x[s b c], w[o c] -> y[s b o] | sum c"(%x, %w) kernel "gemm" : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.yield %loss : tensor<1xf32>
  model.yield %loss : tensor<1xf32>
}

// CHECK-LABEL: model.block_def @forward.none.backward backward variant "none" of @forward
// CHECK-SAME: (%dy: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>, %loss_scale: tensor<1xf32>) params(%w: tensor<8x8xf32>)
// CHECK-SAME: saved(%x: tensor<?x?x8xf32>, %stat: tensor<?x?xf32>) carried(%head: tensor<?x?x4xf32>)
model.block_def @forward.none.backward backward variant "none" of @forward
    (%dy: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>, %loss_scale: tensor<1xf32>) params(%w: tensor<8x8xf32>)
    saved(%x: tensor<?x?x8xf32>, %stat: tensor<?x?xf32>) carried(%head: tensor<?x?x4xf32>) {
  // CHECK: model.linear_grad_input
  %0 = model.linear_grad_input %dy, %w : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.linear_grad_weight
  %1 = model.linear_grad_weight %0, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<8x8xf32>
  // CHECK: model.bias_grad
  %2 = model.bias_grad %0 : (tensor<?x?x8xf32>) -> tensor<8xf32>
  // CHECK: model.rms_norm_grad
  %3 = model.rms_norm_grad %0, %x, %2, %stat : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<8xf32>, tensor<?x?xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.rms_norm_grad_weight
  %4 = model.rms_norm_grad_weight %3, %x, %stat : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?xf32>) -> tensor<8xf32>
  // CHECK: model.rms_norm_grad_weight {{.*}} -> tensor<2xf32>
  %5 = model.rms_norm_grad_weight %3, %x, %head : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x4xf32>) -> tensor<2xf32>
  // CHECK: model.rms_norm_grad
  %6 = model.rms_norm_grad %3, %x, %5, %head : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<2xf32>, tensor<?x?x4xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.layer_norm_grad
  %7 = model.layer_norm_grad %6, %x, %4, %stat, %stat
      : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<8xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.layer_norm_grad_weight
  %8, %9 = model.layer_norm_grad_weight %7, %x, %stat, %stat
      : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: model.attention_grad
  %dq, %dk, %dv = model.attention_grad %7, %x, %x, %x, %x, %head {heads = 4 : i64, kv_heads = 4 : i64, head_dim = 2 : i64,
      scale = 0.5 : f64} : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>,
      tensor<?x?x8xf32>, tensor<?x?x4xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>)
  // CHECK: model.activation_grad gelu
  %10 = model.activation_grad gelu %dq, %x : (tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.gated_activation_grad gelu_tanh
  %11, %12 = model.gated_activation_grad gelu_tanh %10, %dk, %dv
      : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x8xf32>)
  // CHECK: model.rope {{.*}}inverse = true
  %13 = model.rope %11 {head_dim = 4 : i64, rotary_dim = 4 : i64, inv_freq = array<f64: 1.0, 0.5>, inverse = true} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.embedding_grad {{.*}} {rows = 11 : i64}
  %14 = model.embedding_grad %13, %tokens {rows = 11 : i64} : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<11x8xf32>
  // CHECK: model.position_embedding_grad
  %15 = model.position_embedding_grad %13 {rows = 64 : i64} : (tensor<?x?x8xf32>) -> tensor<64x8xf32>
  // CHECK: model.cross_entropy_grad
  %16 = model.cross_entropy_grad %13, %stat, %tokens, %loss_scale
      : (tensor<?x?x8xf32>, tensor<?x?xf32>, tensor<?x?xi32>, tensor<1xf32>) -> tensor<?x?x8xf32>
  // CHECK: model.yield {{.*}} : tensor<?x?x8xf32> saved(%x : tensor<?x?x8xf32>) carried(%dy : tensor<?x?x8xf32>) grads({{.*}} : tensor<8x8xf32>)
  model.yield %16 : tensor<?x?x8xf32> saved(%x : tensor<?x?x8xf32>) carried(%dy : tensor<?x?x8xf32>) grads(%1 : tensor<8x8xf32>)
}

// CHECK: model.use @forward layer 3 params [@w, @b, @wd, @table]
model.param @wd : tensor<2xf32> init ones
model.param @table : tensor<11x8xf32> init normal
model.use @forward layer 3 params [@w, @b, @wd, @table]
// CHECK: model.use @forward params [@w, @b, @wd, @table]
model.use @forward params [@w, @b, @wd, @table]
}
