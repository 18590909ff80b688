// The whole plan, and nothing else: a layer is a binding of the same routine.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline --plait-lower-pipeline | FileCheck %s
// CHECK: module {
// CHECK-NEXT: exec.plan format 1 world_size 2 {
// CHECK: plan.solution @decisions
// CHECK: exec.program "r0.s0.forward" phase forward {
// CHECK-NEXT: exec.call 0 layer -1 bind [0, 0, 128]
// CHECK-NEXT: exec.call 1 layer 0 bind [128, 192, 704, 256, 768]
// CHECK-NEXT: exec.call 1 layer 1 bind [768, 1216, 1728, 896, 1408]
// CHECK-NEXT: exec.call 2 layer -1
// CHECK: exec.role "r0.s0" replica 0 stage 0 class "cpu" reports_loss programs [0, 1] schedule 0 axis_families [0] space_bytes [0, 2432, 2432, 0, 1728, 512, 256, 256]
// CHECK: exec.residence 1 offset 48 start [<0 + 16 * axis 0>, <0>] size [16, 8]
// CHECK: exec.ranks role 0 of <0 counts [2] strides [1]>
// CHECK: model_ir "module
// CHECK-NOT: {{^ *}}model.block_def

// The plan translates to a plan file.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline --plait-lower-pipeline | plait-translate --exec-to-plan -o %t.pb
// RUN: plait-translate --plan-to-exec %t.pb | FileCheck %s --check-prefix=FILE
// FILE: exec.program "r0.s0.backward"
