// Every form of a solution is printed as it is read, in text and through the generic form.
// RUN: plait-opt %s | FileCheck %s
// RUN: plait-opt %s | plait-opt | FileCheck %s
// RUN: plait-opt %s --mlir-print-op-generic | plait-opt | FileCheck %s
// RUN: plait-opt %s --emit-bytecode | plait-opt | FileCheck %s
// RUN: plait-opt %s --plan-struct-round-trip | FileCheck %s

// CHECK-LABEL: plan.solution @one schedule "gpipe" sharding "none" micro_batch 4 {
// CHECK-NEXT:    plan.replica microbatches 2 {
// CHECK-NEXT:      plan.stage devices 0 uses 0 to 8
// CHECK-NEXT:    }
// CHECK-NEXT:  }
plan.solution @one schedule "gpipe" sharding "none" micro_batch 4 {
  plan.replica copies 1 copy_stride 0 microbatches 2 {
    plan.stage devices 0 count 1 stride 1 uses 0 to 8 recompute "none" {
    }
  }
}

// CHECK-LABEL: plan.solution @two schedule "1f1b" sharding "optimizer" micro_batch 1 {
// CHECK-NEXT:    plan.replica copies 2 copy_stride 8 microbatches 6 {
// CHECK-NEXT:      plan.stage devices 0 count 3 stride 2 uses 0 to 5 recompute "selective" split_wgrad {
// CHECK-NEXT:        plan.map "attention" [h cuts [2, 4]]
// CHECK-NEXT:        plan.map "mlp" [i, "odd name" cuts [1, 2]]
// CHECK-NEXT:        plan.map "stream" [s]
// CHECK-NEXT:      }
// CHECK-NEXT:      plan.stage devices 1 count 3 stride 2 uses 5 to 8 recompute "full"
// CHECK-NEXT:    }
// CHECK-NEXT:    plan.replica microbatches 1 {
// CHECK-NEXT:      plan.stage devices 16 uses 0 to 5
// CHECK-NEXT:      plan.stage devices 17 uses 5 to 8
// CHECK-NEXT:    }
// CHECK-NEXT:    plan.override replica 0 stage 1 microbatch 5 on replica 1
// CHECK-NEXT:  }
plan.solution @two schedule "1f1b" sharding "optimizer" micro_batch 1 {
  plan.replica copies 2 copy_stride 8 microbatches 6 {
    plan.stage devices 0 count 3 stride 2 uses 0 to 5 recompute "selective" split_wgrad {
      plan.map "attention" [h cuts [2, 4]]
      plan.map "mlp" [i, "odd name" cuts [1, 2]]
      plan.map "stream" [s]
    }
    plan.stage devices 1 count 3 stride 2 uses 5 to 8 recompute "full"
  }
  plan.replica microbatches 1 {
    plan.stage devices 16 uses 0 to 5
    plan.stage devices 17 uses 5 to 8
  }
  plan.override replica 0 stage 1 microbatch 5 on replica 1
}
