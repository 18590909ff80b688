// What the analysis makes of a Llama model: factors, kinds of values, ops of every phase, the chain.
// RUN: plait-opt %s --model-differentiate-pipeline --model-print-summary -o %t | FileCheck %s
// RUN: plait-opt %s --model-differentiate-pipeline --model-print-summary -o %t > %t.1
// RUN: plait-opt %s --model-differentiate-pipeline --mlir-print-debuginfo | plait-opt --model-print-summary -o %t | cmp - %t.1

module attributes {model.name = "tiny", model.family = "llama", model.vocab_size = 509 : i64} {
model.param @embed : tensor<509x96xf32> init normal
model.param @norm : tensor<96xf32> init ones {decay = false}
model.param @layers.0.norm1 : tensor<96xf32> init ones
model.param @layers.0.wq : tensor<96x96xf32> init normal
model.param @layers.0.wk : tensor<32x96xf32> init normal
model.param @layers.0.wv : tensor<32x96xf32> init normal
model.param @layers.0.wo : tensor<96x96xf32> init normal
model.param @layers.0.norm2 : tensor<96xf32> init ones
model.param @layers.0.gate : tensor<250x96xf32> init normal
model.param @layers.0.up : tensor<250x96xf32> init normal
model.param @layers.0.down : tensor<96x250xf32> init normal
model.param @layers.1.norm1 : tensor<96xf32> init ones
model.param @layers.1.wq : tensor<96x96xf32> init normal
model.param @layers.1.wk : tensor<32x96xf32> init normal
model.param @layers.1.wv : tensor<32x96xf32> init normal
model.param @layers.1.wo : tensor<96x96xf32> init normal
model.param @layers.1.norm2 : tensor<96xf32> init ones
model.param @layers.1.gate : tensor<250x96xf32> init normal
model.param @layers.1.up : tensor<250x96xf32> init normal
model.param @layers.1.down : tensor<96x250xf32> init normal
model.block_def @embedding forward (%tokens: tensor<?x?xi32>) params(%w: tensor<509x96xf32>) {
  %y = model.embedding %tokens, %w {segment = "embedding"} : (tensor<?x?xi32>, tensor<509x96xf32>) -> tensor<?x?x96xf32>
  model.yield %y : tensor<?x?x96xf32>
}
model.block_def @decoder forward (%x: tensor<?x?x96xf32>) params(%norm1: tensor<96xf32>, %wq: tensor<96x96xf32>, %wk:
      tensor<32x96xf32>, %wv: tensor<32x96xf32>, %wo: tensor<96x96xf32>, %norm2: tensor<96xf32>, %gate:
      tensor<250x96xf32>, %up: tensor<250x96xf32>, %down: tensor<96x250xf32>) {
  %n1, %rn1 = model.rms_norm %x, %norm1 {eps = 1.0e-05 : f64} : (tensor<?x?x96xf32>, tensor<96xf32>) ->
      (tensor<?x?x96xf32>, tensor<?x?xf32>)
  %q = model.linear %n1, %wq {segment = "attention"} : (tensor<?x?x96xf32>, tensor<96x96xf32>) -> tensor<?x?x96xf32>
      loc("wq")
  %k = model.linear %n1, %wk {segment = "attention"} : (tensor<?x?x96xf32>, tensor<32x96xf32>) -> tensor<?x?x32xf32>
      loc("wk")
  %v = model.linear %n1, %wv {segment = "attention"} : (tensor<?x?x96xf32>, tensor<32x96xf32>) -> tensor<?x?x32xf32>
      loc("wv")
  %rq = model.rope %q {head_dim = 16 : i64, rotary_dim = 16 : i64, inv_freq = array<f64: 1.0, 0.5, 0.25, 0.125,
      0.0625, 0.03125, 0.015625, 0.0078125>, segment = "attention"} : (tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %rk = model.rope %k {head_dim = 16 : i64, rotary_dim = 16 : i64, inv_freq = array<f64: 1.0, 0.5, 0.25, 0.125,
      0.0625, 0.03125, 0.015625, 0.0078125>, segment = "attention"} : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %o, %lse = model.attention %rq, %rk, %v {heads = 6 : i64, kv_heads = 2 : i64, head_dim = 16 : i64, scale = 0.25 :
      f64, segment = "attention"} : (tensor<?x?x96xf32>, tensor<?x?x32xf32>, tensor<?x?x32xf32>) ->
      (tensor<?x?x96xf32>, tensor<?x?x6xf32>)
  %wo_ = model.linear %o, %wo {segment = "attention"} : (tensor<?x?x96xf32>, tensor<96x96xf32>) -> tensor<?x?x96xf32>
      loc("wo")
  %x1 = model.add %x, %wo_ : (tensor<?x?x96xf32>, tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %n2, %rn2 = model.rms_norm %x1, %norm2 {eps = 1.0e-05 : f64} : (tensor<?x?x96xf32>, tensor<96xf32>) ->
      (tensor<?x?x96xf32>, tensor<?x?xf32>)
  %g = model.linear %n2, %gate {segment = "mlp"} : (tensor<?x?x96xf32>, tensor<250x96xf32>) -> tensor<?x?x250xf32>
      loc("gate")
  %u = model.linear %n2, %up {segment = "mlp"} : (tensor<?x?x96xf32>, tensor<250x96xf32>) -> tensor<?x?x250xf32>
      loc("up")
  %a = model.gated_activation silu %g, %u {segment = "mlp"} : (tensor<?x?x250xf32>, tensor<?x?x250xf32>) ->
      tensor<?x?x250xf32>
  %d = model.linear %a, %down {segment = "mlp"} : (tensor<?x?x250xf32>, tensor<96x250xf32>) -> tensor<?x?x96xf32>
      loc("down")
  %x2 = model.add %x1, %d : (tensor<?x?x96xf32>, tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  model.yield %x2 : tensor<?x?x96xf32>
}
model.block_def @head forward (%x: tensor<?x?x96xf32>, %labels: tensor<?x?xi32>, %loss_scale: tensor<1xf32>)
      params(%norm: tensor<96xf32>, %w: tensor<509x96xf32>) {
  %n, %rn = model.rms_norm %x, %norm {eps = 1.0e-05 : f64} : (tensor<?x?x96xf32>, tensor<96xf32>) ->
      (tensor<?x?x96xf32>, tensor<?x?xf32>)
  %logits = model.linear %n, %w {segment = "head"} : (tensor<?x?x96xf32>, tensor<509x96xf32>) -> tensor<?x?x509xf32>
      loc("w")
  %m = model.row_max %logits {segment = "head"} : (tensor<?x?x509xf32>) -> tensor<?x?xf32>
  %z = model.row_sum_exp %logits, %m {segment = "head"} : (tensor<?x?x509xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %t = model.row_pick %logits, %labels {segment = "head"} : (tensor<?x?x509xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  %lse, %loss = model.cross_entropy %m, %z, %t, %labels {segment = "head"} : (tensor<?x?xf32>, tensor<?x?xf32>,
      tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  model.yield %loss : tensor<1xf32>
}
model.use @embedding params [@embed]
model.use @decoder layer 0 params [@layers.0.norm1, @layers.0.wq, @layers.0.wk, @layers.0.wv, @layers.0.wo,
      @layers.0.norm2, @layers.0.gate, @layers.0.up, @layers.0.down]
model.use @decoder layer 1 params [@layers.1.norm1, @layers.1.wq, @layers.1.wk, @layers.1.wv, @layers.1.wo,
      @layers.1.norm2, @layers.1.gate, @layers.1.up, @layers.1.down]
model.use @head params [@norm, @embed]
}

// CHECK:      model tiny family llama vocabulary 509

// CHECK-NEXT: block embedding
// CHECK-NEXT:   factor s 0
// CHECK-NEXT:   factor b 0
// CHECK-NEXT:   factor v 509
// CHECK-NEXT:   factor e 96
// CHECK:        value w param [v e]
// CHECK:        value dy activation [s b e]
// CHECK-NEXT:   value embedding_grad0.dw param_grad [v e]
// CHECK-NEXT:   phase forward none saved() carried()
// CHECK-NEXT:     embedding [embedding, embedding] tokens, w -> embedding0.y sum v offset v

// CHECK:      block decoder
// CHECK-NEXT:   factor s 0
// CHECK-NEXT:   factor b 0
// CHECK-NEXT:   factor e 96
// CHECK-NEXT:   factor h 6
// CHECK-NEXT:   factor g 2 follows h ratio 3
// CHECK-NEXT:   factor i 250
// CHECK-NEXT:   x = x
// CHECK-NEXT:   y = add1.y
// CHECK-NEXT:   dx = add6.y
// CHECK-NEXT:   dy = dy
// CHECK:        param wk grad linear_grad_weight5.dw
// CHECK:        value wq param [h*16 e]
// CHECK-NEXT:   value wk param [g*16 e]
// CHECK-NEXT:   value wv param [g*16 e]
// CHECK-NEXT:   value wo param [e h*16]
// CHECK:        value gate param [i e]
// CHECK:        value down param [e i]
// CHECK:        value rms_norm0.rstd statistic [s b]
// CHECK:        value attention0.lse statistic [s b h]
// CHECK:        value attention_grad0.dk activation [s b g*16]
// CHECK:        phase forward none saved(x, rms_norm0.y, rms_norm0.rstd, linear2.y, rope0.y,
// CHECK-NEXT:     rms_norm [rms_norm, stream] x, norm1 -> rms_norm0.y, rms_norm0.rstd whole e
// CHECK-NEXT:     linear wq [gemm, attention] rms_norm0.y, wq -> linear0.y sum e
// CHECK:          rope [rope, attention] linear0.y -> rope0.y offset s
// CHECK:          attention [attention, attention] rope0.y, rope1.y, linear2.y -> attention0.o, attention0.lse whole s
// CHECK-NEXT:     linear wo [gemm, attention] attention0.o, wo -> linear3.y sum h
// CHECK-NEXT:     add [pointwise, stream] x, linear3.y -> add0.y program add
// CHECK:          gated_activation [pointwise, mlp] linear4.y, linear5.y -> gated_activation0.y program silu_gated
// CHECK:        phase backward none
// CHECK:          rms_norm_grad_weight [rms_norm_grad_weight, stream] {{.*}} sum s sum b whole e
// CHECK:          linear_grad_weight wo [gemm, attention] add3.y, attention0.o -> linear_grad_weight3.dw sum s sum b
// CHECK:          linear_grad_input wk [gemm, attention] rope2.y, wk -> linear_grad_input5.dx sum g
// CHECK:        phase backward_weight none {{.*}} carried(dy, gated_activation_grad0.dgate,
// Recomputed values are the forward's.
// CHECK:        phase backward selective saved(x, linear0.y, linear1.y, linear2.y, attention0.o, attention0.lse, add0.y, linear4.y, linear5.y)
// CHECK-NEXT:     rms_norm [rms_norm, stream] x, norm1 -> rms_norm0.y, rms_norm0.rstd whole e
// CHECK:        phase backward full saved(x)

// CHECK:      block head
// CHECK:        factor v 509
// CHECK:        dx = rms_norm_grad0.dx
// CHECK-NEXT:   labels = labels
// CHECK-NEXT:   loss = cross_entropy0.loss
// CHECK-NEXT:   loss_scale = loss_scale
// CHECK:        value loss_scale scalar [1]
// CHECK:          row_max [row_max, head] linear0.y -> row_max0.m max v
// CHECK-NEXT:     row_sum_exp [row_sum_exp, head] linear0.y, row_max0.m -> row_sum_exp0.z sum v
// CHECK-NEXT:     row_pick [row_pick, head] linear0.y, labels -> row_pick0.t sum v offset v
// CHECK-NEXT:     cross_entropy [cross_entropy, head] {{.*}} -> cross_entropy0.lse, cross_entropy0.loss sum s sum b
// CHECK:          cross_entropy_grad [cross_entropy_grad, head] {{.*}} offset v

// CHECK:      use embedding embed
// CHECK-NEXT: use decoder layer 0 layers.0.norm1 layers.0.wq
// CHECK-NEXT: use decoder layer 1 layers.1.norm1
// CHECK-NEXT: use head norm embed
