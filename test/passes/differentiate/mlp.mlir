// Phases and recompute variants of an MLP: what is saved, recomputed and carried.
// RUN: plait-opt %s --model-differentiate-pipeline | FileCheck %s
// RUN: plait-opt %s --model-differentiate-pipeline | plait-opt | FileCheck %s

model.block_def @mlp forward (%x: tensor<?x?x8xf32>) params(%up: tensor<32x8xf32>, %down: tensor<8x32xf32>) {
  %0 = model.linear %x, %up {segment = "mlp"} : (tensor<?x?x8xf32>, tensor<32x8xf32>) -> tensor<?x?x32xf32>
  %1 = model.activation gelu %0 {segment = "mlp"} : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %2 = model.linear %1, %down {segment = "mlp"} : (tensor<?x?x32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
  model.yield %2 : tensor<?x?x8xf32>
}

// Everything that the backward reads is kept.
// CHECK-LABEL: model.block_def @mlp.none.forward forward variant "none" of @mlp
// CHECK-SAME:    (%x: tensor<?x?x8xf32>) params(%up: tensor<32x8xf32>, %down: tensor<8x32xf32>)
// CHECK:         [[U:%.*]] = model.linear %x, %up
// CHECK:         [[A:%.*]] = model.activation gelu [[U]]
// CHECK:         [[Y:%.*]] = model.linear [[A]], %down
// CHECK:         model.yield [[Y]] : tensor<?x?x8xf32> saved(%x, [[U]], [[A]] :

// CHECK-LABEL: model.block_def @mlp.none.backward backward variant "none" of @mlp
// CHECK-SAME:    (%dy: tensor<?x?x8xf32>) params(%up: tensor<32x8xf32>, %down: tensor<8x32xf32>)
// CHECK-SAME:    saved(%saved0: tensor<?x?x8xf32>, %saved1: tensor<?x?x32xf32>, %saved2: tensor<?x?x32xf32>)
// CHECK:         [[DA:%.*]] = model.linear_grad_input %dy, %down {segment = "mlp"}
// CHECK:         [[DD:%.*]] = model.linear_grad_weight %dy, %saved2 {segment = "mlp"}
// CHECK:         [[DU:%.*]] = model.activation_grad gelu [[DA]], %saved1 {segment = "mlp"}
// CHECK:         [[DX:%.*]] = model.linear_grad_input [[DU]], %up
// CHECK:         [[DUP:%.*]] = model.linear_grad_weight [[DU]], %saved0
// CHECK:         model.yield [[DX]] : tensor<?x?x8xf32> grads([[DUP]], [[DD]] : tensor<32x8xf32>, tensor<8x32xf32>)

// CHECK-LABEL: model.block_def @mlp.none.backward_input
// CHECK-NOT:     model.linear_grad_weight
// CHECK:         [[DU:%.*]] = model.activation_grad
// CHECK-NOT:     model.linear_grad_weight
// CHECK:         model.yield {{%.*}} : tensor<?x?x8xf32> carried(%dy, [[DU]] : tensor<?x?x8xf32>, tensor<?x?x32xf32>)

// CHECK-LABEL: model.block_def @mlp.none.backward_weight
// CHECK-SAME:    () params(
// CHECK-SAME:    carried(%carried0: tensor<?x?x8xf32>, %carried1: tensor<?x?x32xf32>)
// CHECK-NEXT:    [[DD:%.*]] = model.linear_grad_weight %carried0, %saved2
// CHECK-NEXT:    [[DUP:%.*]] = model.linear_grad_weight %carried1, %saved0
// CHECK-NEXT:    model.yield grads([[DUP]], [[DD]] :

// The activation is computed again from the product that is kept.
// CHECK-LABEL: model.block_def @mlp.selective.forward
// CHECK:         [[U:%.*]] = model.linear %x, %up
// CHECK:         model.yield {{%.*}} saved(%x, [[U]] :
// CHECK-LABEL: model.block_def @mlp.selective.backward
// CHECK:         [[A:%.*]] = model.activation gelu %saved1
// CHECK-NOT:     model.linear %
// CHECK:         model.linear_grad_weight %dy, [[A]]

// Recomputed values that only the weight gradient reads are computed there.
// CHECK-LABEL: model.block_def @mlp.selective.backward_weight
// CHECK:         [[A:%.*]] = model.activation gelu %saved1
// CHECK:         model.linear_grad_weight %carried0, [[A]]

// Only the input is kept; the last product is not needed again.
// CHECK-LABEL: model.block_def @mlp.full.forward
// CHECK:         model.yield {{%.*}} saved(%x : tensor<?x?x8xf32>)
// CHECK-LABEL: model.block_def @mlp.full.backward
// CHECK:         model.linear %saved0, %up
// CHECK:         model.activation gelu
// CHECK-NOT:     model.linear %
// CHECK:         model.linear_grad_input %dy, %down
// CHECK-LABEL: model.block_def @mlp.full.backward_input
