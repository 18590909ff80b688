// RUN: plait-opt %s | FileCheck %s
// RUN: plait-opt %s | plait-opt | FileCheck %s
// RUN: plait-opt %s --mlir-print-op-generic | plait-opt | FileCheck %s
// RUN: plait-opt %s --plan-struct-round-trip | FileCheck %s

// CHECK-LABEL: plan.problem @mixed target "megatron@0.19" {
// CHECK-NEXT:    plan.cluster "mixed" {
// CHECK-NEXT:      plan.class "big" facts "h100-sxm" memory 80 GiB reserved 1536 MiB
// CHECK-NEXT:      plan.class "odd" facts "a100" memory 40000000001
// CHECK-NEXT:      plan.domain "cluster" link "ib-ndr"
// CHECK-NEXT:      plan.domain "node0" in "cluster" class "big" devices 8 link "nvlink4" fails_together
// CHECK-NEXT:      plan.domain "node1" in "cluster" class "odd" devices 4
// CHECK-NEXT:    }
// CHECK-NEXT:    plan.job global_batch 8 seq_len 128 precision "f32,bf16,bf16,f32,f32,f32,f32" optimizer "adamw"
// CHECK-NEXT:    plan.space tp [1, 2, 3] pp [1, 2] dp [1] micro_batch [1, 2] schedules ["1f1b", "gpipe"]
// CHECK-SAME:      recompute ["none"] sharding ["optimizer"] sequence_parallel [false, true] split_wgrad [true]
// CHECK-SAME:      even_layers idle_devices
// CHECK-NEXT:    plan.costs boundary 1.250000e-01 latency 5.000000e-01 tail 1.000000e+00 slowdown [1.000000e+00, 2.000000e+00] {
// CHECK-NEXT:      plan.cost "decoder" tp 1 forward 2.500000e-01 backward_input 2.500000e-01 backward_weight 5.000000e-01
// CHECK-SAME:        static 4 KiB saved 3
// CHECK-NEXT:      plan.cost "decoder" tp 2 recompute "full" forward 1.250000e-01 backward_input 5.000000e-01
// CHECK-SAME:        backward_weight 1.000000e+00{{$}}
// CHECK-NEXT:    }
// CHECK-NEXT:    plan.expect @chosen seconds 1.500000e+00 peak_bytes [4096, 8192]
// CHECK-NEXT:  }
plan.problem @mixed target "megatron@0.19" {
  plan.cluster "mixed" {
    plan.class "big" facts "h100-sxm" memory 80 GiB reserved 1536 MiB
    plan.class "odd" facts "a100" memory 40000000001 B
    plan.domain "cluster" link "ib-ndr"
    plan.domain "node0" in "cluster" class "big" devices 8 link "nvlink4" fails_together
    plan.domain "node1" in "cluster" class "odd" devices 4
  }
  plan.job global_batch 8 seq_len 128 precision "f32,bf16,bf16,f32,f32,f32,f32" optimizer "adamw"
  plan.space tp [1, 2, 3] pp [1, 2] dp [1] micro_batch [1, 2] schedules ["1f1b", "gpipe"] recompute ["none"]
    sharding ["optimizer"] sequence_parallel [false, true] split_wgrad [true] even_layers idle_devices
  plan.costs boundary 0.125 latency 0.5 tail 1.0 slowdown [1.0, 2.0] {
    plan.cost "decoder" tp 1 forward 0.25 backward_input 0.25 backward_weight 0.5 static 4096 saved 3
    plan.cost "decoder" tp 2 recompute "full" forward 0.125 backward_input 0.5 backward_weight 1.0
  }
  plan.expect @chosen seconds 1.5 peak_bytes [4096, 8192]
}

// What is left out is the default: target plait, every legal value, uneven layers, no idle device.
// CHECK-LABEL: plan.problem @small {
// CHECK-NEXT:    plan.cluster "one" {
// CHECK-NEXT:      plan.class "cpu" facts "cpu-generic" memory 16 GiB
// CHECK-NEXT:      plan.domain "host" class "cpu" devices 2
// CHECK-NEXT:    }
// CHECK-NEXT:    plan.job global_batch 1 seq_len 8 precision "bf16" optimizer "sgd"
// CHECK-NEXT:    plan.space{{ *$}}
// CHECK-NEXT:  }
plan.problem @small target "plait" {
  plan.cluster "one" {
    plan.class "cpu" facts "cpu-generic" memory 16 GiB reserved 0
    plan.domain "host" class "cpu" devices 2
  }
  plan.job global_batch 1 seq_len 8 precision "bf16" optimizer "sgd"
  plan.space
}

plan.solution @chosen schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 8 { plan.stage devices 0 uses 0 to 8 }
}
