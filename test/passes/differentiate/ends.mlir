// First and last block: no x and dx, no y and dy.
// RUN: plait-opt %s --model-differentiate-pipeline | FileCheck %s

model.block_def @embedding forward (%tokens: tensor<?x?xi32>) params(%w: tensor<509x96xf32>) {
  %y = model.embedding %tokens, %w {segment = "embedding"} : (tensor<?x?xi32>, tensor<509x96xf32>) -> tensor<?x?x96xf32>
  model.yield %y : tensor<?x?x96xf32>
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

// Token ids are an input of every phase, never saved; backward_input has nothing to do but to pass dy on.
// CHECK-LABEL: model.block_def @embedding.none.forward
// CHECK:         model.yield {{%.*}} : tensor<?x?x96xf32>{{$}}
// CHECK-LABEL: model.block_def @embedding.none.backward backward
// CHECK-SAME:    (%dy: tensor<?x?x96xf32>, %tokens: tensor<?x?xi32>)
// CHECK-NEXT:    [[DW:%.*]] = model.embedding_grad %dy, %tokens {rows = 509 : i64, segment = "embedding"}
// CHECK-NEXT:    model.yield grads([[DW]] : tensor<509x96xf32>)
// CHECK-LABEL: model.block_def @embedding.none.backward_input
// CHECK-NEXT:    model.yield carried(%dy : tensor<?x?x96xf32>)
// CHECK-LABEL: model.block_def @embedding.none.backward_weight
// CHECK-SAME:    (%tokens: tensor<?x?xi32>) params(%w: tensor<509x96xf32>) carried(%carried0: tensor<?x?x96xf32>)
// CHECK-NEXT:    model.embedding_grad %carried0, %tokens

// The backward of the loss starts with its scale. Only lse is kept of the row statistics.
// CHECK-LABEL: model.block_def @head.none.forward
// CHECK:         [[LOGITS:%.*]] = model.linear
// CHECK:         [[LSE:%.*]], [[LOSS:%.*]] = model.cross_entropy
// CHECK:         model.yield [[LOSS]] : tensor<1xf32> saved(%x, {{.*}}, {{.*}}, [[LOGITS]], [[LSE]] :
// CHECK-LABEL: model.block_def @head.none.backward backward
// CHECK-SAME:    (%labels: tensor<?x?xi32>, %loss_scale: tensor<1xf32>)
// CHECK-NEXT:    model.cross_entropy_grad %saved3, %saved4, %labels, %loss_scale {segment = "head"}

// The loss accumulates: no variant computes cross_entropy a second time.
// CHECK-LABEL: model.block_def @head.full.forward
// CHECK:         [[LSE:%.*]], [[LOSS:%.*]] = model.cross_entropy
// CHECK:         model.yield [[LOSS]] : tensor<1xf32> saved(%x, [[LSE]] :
// CHECK-LABEL: model.block_def @head.full.backward backward
// CHECK-NOT:     model.cross_entropy %
// CHECK-NOT:     model.row_
// CHECK:         model.linear {{%.*}}, %w
// CHECK-NOT:     model.row_
// CHECK:         model.cross_entropy_grad
// CHECK-LABEL: model.block_def @head.full.backward_input
