// Two MLP layers on two tensor-parallel devices: every layer calls one routine, weights are halved, partial sums reduced.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline --plait-partition --plait-verify-partitioned | FileCheck %s
// The model stays, the plan has no task lists yet.
// CHECK: model.block_def @mlp forward
// CHECK: plan.solution @solution
// CHECK: exec.plan format 1 world_size 2 {
// CHECK: exec.routine "mlp.forward.none" block "mlp" phase forward
// CHECK-NEXT: exec.slot "x" frame 128
// CHECK-NEXT: exec.slot "p:up" param 512
// CHECK-NEXT: exec.slot "p:down" param 512
// CHECK-NEXT: exec.slot "saved" frame 512
// CHECK-NEXT: exec.slot "y" frame 128
// CHECK-NEXT: exec.launch "gemm" work [[#UP:]] [<0 [4, 1, 8] f32>, <1 [16, 8] f32>, <3 [4, 1, 16] f32>]
// CHECK-NEXT: exec.launch "pointwise"
// CHECK-NEXT: exec.launch "gemm" work {{[0-9]+}} [<3 + 256 [4, 1, 16] f32>, <2 [8, 16] f32>, <4 [4, 1, 8] f32>]
// CHECK-NEXT: exec.batch
// CHECK-NEXT: exec.collective all_reduce axis 0 in <4 [4, 1, 8] f32>
// CHECK-NOT: exec.routine "mlp.forward
// CHECK: exec.routine "mlp.backward.none" block "mlp" phase backward
// CHECK-NOT: exec.schedule
// CHECK-NOT: exec.role
