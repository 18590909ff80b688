// Two micro-batches on one stage: forward and backward in turn, then the atomic optimizer step.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline --plait-partition --plait-schedule | FileCheck %s
// CHECK: exec.family "tp.r0.s0" groups <0> members <0 counts [2] strides [1]>
// CHECK: exec.routine "mlp.forward.none"
// CHECK: exec.sync "sync0" family 1 elements 608
// CHECK-NEXT: exec.schedule "r0.s0" {
// CHECK-NEXT: exec.task zero
// CHECK-NEXT: exec.task load
// CHECK-NEXT: exec.task run
// CHECK-NEXT: exec.task run program 1
// CHECK-NEXT: exec.task load microbatch 1
// CHECK-NEXT: exec.task run microbatch 1
// CHECK-NEXT: exec.task run program 1 microbatch 1
// CHECK-NEXT: exec.task grad_sync queue 2 deps [6]
// CHECK-NEXT: exec.task vote queue 2 deps [7]
// CHECK-NEXT: exec.task apply deps [8]
// CHECK-NEXT: exec.task param_gather queue 2 deps [9]
// CHECK-NEXT: exec.task commit deps [10]
// CHECK-NOT: exec.role
