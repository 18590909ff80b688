// Phases of a Llama decoder block with grouped key/value heads.
// RUN: plait-opt %s --model-differentiate-pipeline | FileCheck %s
// RUN: plait-opt %s --model-differentiate-pipeline | plait-opt --model-verify-differentiated | FileCheck %s

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

// Everything that the backward reads is kept; the unrotated heads and the products before residual sums are not read.
// CHECK-LABEL: model.block_def @decoder.none.forward
// CHECK:         [[N1:%.*]], [[R1:%.*]] = model.rms_norm %x, %norm1
// CHECK:         [[Q:%.*]] = model.linear [[N1]], %wq
// CHECK:         [[K:%.*]] = model.linear [[N1]], %wk
// CHECK:         [[V:%.*]] = model.linear [[N1]], %wv
// CHECK:         [[RQ:%.*]] = model.rope [[Q]]
// CHECK:         [[RK:%.*]] = model.rope [[K]]
// CHECK:         [[O:%.*]], [[LSE:%.*]] = model.attention [[RQ]], [[RK]], [[V]]
// CHECK:         [[X1:%.*]] = model.add %x
// CHECK:         [[N2:%.*]], [[R2:%.*]] = model.rms_norm [[X1]], %norm2
// CHECK:         [[G:%.*]] = model.linear [[N2]], %gate
// CHECK:         [[U:%.*]] = model.linear [[N2]], %up
// CHECK:         [[A:%.*]] = model.gated_activation silu [[G]], [[U]]
// CHECK:         model.yield {{.*}} saved(%x, [[N1]], [[R1]], [[V]], [[RQ]], [[RK]], [[O]], [[LSE]], [[X1]], [[N2]], [[R2]], [[G]], [[U]], [[A]] :

// CHECK-LABEL: model.block_def @decoder.none.backward backward
// The MLP: two products meet in one sum of segment mlp, so that partial sums are reduced once.
// CHECK:         [[DA:%.*]] = model.linear_grad_input %dy, %down {segment = "mlp"}
// CHECK:         [[DG:%.*]], [[DU:%.*]] = model.gated_activation_grad silu [[DA]], %saved11, %saved12 {segment = "mlp"}
// CHECK:         [[FROM_UP:%.*]] = model.linear_grad_input [[DU]], %up {segment = "mlp"}
// CHECK:         [[FROM_GATE:%.*]] = model.linear_grad_input [[DG]], %gate {segment = "mlp"}
// CHECK:         [[DN2:%.*]] = model.add [[FROM_UP]], [[FROM_GATE]] {segment = "mlp"}
// CHECK:         [[DX1N:%.*]] = model.rms_norm_grad [[DN2]], %saved8, %norm2, %saved10 :
// CHECK:         [[DX1:%.*]] = model.add %dy, [[DX1N]] :
// CHECK:         [[DO:%.*]] = model.linear_grad_input [[DX1]], %wo {segment = "attention"}
// CHECK:         [[DQ:%.*]], [[DK:%.*]], [[DV:%.*]] = model.attention_grad [[DO]], %saved4, %saved5, %saved3, %saved6, %saved7 {head_dim = 16 : i64, heads = 6 : i64, kv_heads = 2 : i64
// CHECK-DAG:     model.rope [[DQ]] {{.*}}inverse = true
// CHECK-DAG:     model.rope [[DK]] {{.*}}inverse = true
// CHECK-DAG:     model.linear_grad_weight [[DV]], %saved1 {segment = "attention"}
// CHECK:         model.yield {{.*}} grads(

// CHECK-LABEL: model.block_def @decoder.none.backward_input
// CHECK-NOT:     grad_weight
// CHECK-LABEL: model.block_def @decoder.none.backward_weight
// CHECK-COUNT-9: grad_weight
// CHECK:         model.yield grads(

// Norms, rotations and the activation are computed again; products, attention and residual sums are kept.
// CHECK-LABEL: model.block_def @decoder.selective.forward
// CHECK:         [[Q:%.*]] = model.linear {{.*}}, %wq
// CHECK:         [[K:%.*]] = model.linear {{.*}}, %wk
// CHECK:         [[V:%.*]] = model.linear {{.*}}, %wv
// CHECK:         [[O:%.*]], [[LSE:%.*]] = model.attention
// CHECK:         [[X1:%.*]] = model.add %x
// CHECK:         [[G:%.*]] = model.linear {{.*}}, %gate
// CHECK:         [[U:%.*]] = model.linear {{.*}}, %up
// CHECK:         model.yield {{.*}} saved(%x, [[Q]], [[K]], [[V]], [[O]], [[LSE]], [[X1]], [[G]], [[U]] :
// CHECK-LABEL: model.block_def @decoder.selective.backward backward
// CHECK-NOT:     model.linear %
// CHECK-NOT:     model.attention %
// CHECK:         model.rms_norm %saved0, %norm1
// CHECK:         model.rope %saved1
// CHECK:         model.rope %saved2
// CHECK:         model.rms_norm %saved6, %norm2
// CHECK:         model.gated_activation silu %saved7, %saved8
// CHECK-NOT:     model.linear %

// CHECK-LABEL: model.block_def @decoder.full.forward
// CHECK:         model.yield {{.*}} saved(%x : tensor<?x?x96xf32>)
// The product before the last residual sum is not needed again.
// CHECK-LABEL: model.block_def @decoder.full.backward backward
// CHECK-COUNT-6: model.linear %
// CHECK-NOT:     model.linear %
// CHECK-LABEL: model.block_def @decoder.full.backward_input
