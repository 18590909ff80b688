// Every op and every field, as text, and through the plan file: exec -> plan -> exec gives the same text, and
// plan -> exec -> plan the same bytes.
// RUN: plait-opt %s | FileCheck %s
// RUN: plait-opt %s | plait-opt | FileCheck %s
// RUN: plait-opt %s --mlir-print-op-generic | plait-opt | FileCheck %s
// RUN: plait-translate --exec-to-plan %s -o %t.pb
// RUN: plait-translate --plan-to-exec %t.pb | FileCheck %s
// RUN: plait-translate --plan-to-exec %t.pb | plait-translate --exec-to-plan -o %t2.pb
// RUN: cmp %t.pb %t2.pb

// CHECK-LABEL: exec.plan format 1 world_size 2 {
// CHECK-NEXT:    exec.provenance tool "plait 0.1" input_digests ["ab", "cd"] space "tp" solver "exact" objective "time"
// CHECK-NEXT:    plan.solution @decisions schedule "1f1b" sharding "optimizer" micro_batch 1 {
// CHECK-NEXT:      plan.replica microbatches 6 {
// CHECK-NEXT:        plan.stage devices 0 count 2 uses 0 to 8 recompute "full" split_wgrad {
// CHECK-NEXT:          plan.map "attention" [h cuts [4]]
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      plan.replica copies 2 copy_stride 1 microbatches 1 {
// CHECK-NEXT:        plan.stage devices 2 uses 0 to 8
// CHECK-NEXT:      }
// CHECK-NEXT:      plan.override replica 0 stage 0 microbatch 5 on replica 1
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.job "tiny" seq_len 16 global_batch 8 micro_batch 1 vocab_size 509 precision <param = bf16,
// CHECK-SAME:      compute = bf16, saved = bf16, grad = f32, reduce = f32, master = f32, moments = f32>
// CHECK-SAME:      optimizer "adamw" flops_per_token 2.500000e+06 parameters 1234567
// CHECK-NEXT:    exec.tensor "wq" [6, 8] f32 hf "model.wq.weight" shape [8, 6] base 2 sizes [6, 8] strides [1, 6]
// CHECK-SAME:      init normal std 1.562500e-02 decay
// CHECK-NEXT:    exec.tensor "norm" [8] f32 init ones
// CHECK-NEXT:    exec.tensor "bare" [8] bf16{{$}}
// CHECK-NEXT:    exec.family "tp" groups <0 counts [2] strides [4]> members <0 counts [4] strides [1]>
// CHECK-NEXT:    exec.family "odd" members <0 listed [3, 1, 2]>
// CHECK-NEXT:    exec.channel "c0" from <0> to <1 counts [2] strides [1]>
// CHECK-NEXT:    exec.work "gemm" [4, 8, 2] f32 flops 1.280000e+02 read 1.920000e+02 written 3.200000e+01
// CHECK-NEXT:    exec.work 999 [] none flops 0.000000e+00 read 0.000000e+00 written 0.000000e+00
// CHECK-NEXT:    exec.pointwise "silu_mul" (element, row) -> [3] {
// CHECK-NEXT:      exec.compute "sigmoid" [0]
// CHECK-NEXT:      exec.compute "axpby" [2, 1] immediates [5.000000e-01, -2.000000e+00]
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.routine "decoder.fwd" block "decoder" phase forward variant "none" {
// CHECK-NEXT:      exec.slot "x" frame 128
// CHECK-NEXT:      exec.slot "w" param 256
// CHECK-NEXT:      exec.launch "gemm" work 0 [<0 [4, 8] f32>, <1 + 64 [8, 2] strides [4, 1] bf16>, <0 + 8 f32>] ints [0, 1, 0]
// CHECK-SAME:        doubles [1.000000e+00, 9.9999999999999995E-7] offsets [<64>, <-1 + 32 * axis 1>, <0 + 0 * axis 2>]
// CHECK-SAME:        origin "linear q"
// CHECK-NEXT:      exec.launch "pointwise" work 1 []
// CHECK-NEXT:      exec.batch origin "reduce" {
// CHECK-NEXT:        exec.collective all_reduce axis 0 in <0 [8] f32> out <0 [8] f32> reduce sum
// CHECK-NEXT:        exec.collective broadcast axis 1 out <1 [8] f32> counts [3, 5] root 2
// CHECK-NEXT:      }
// CHECK-NEXT:      exec.batch{{$}}
// CHECK-NEXT:      exec.zero <1 [8] f32> origin "grad"
// CHECK-NEXT:      exec.copy from <0 [8] f32> to <1 [8] f32>
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.program "stage0.fwd" phase forward {
// CHECK-NEXT:      exec.call 0 layer 0 bind [0, 512]
// CHECK-NEXT:      exec.call 0 layer -1 bind [128, 768]
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.sync "dp" family 0 elements 48 sharded cuts [0, 24, 48] silent [1]
// CHECK-NEXT:    exec.schedule "train" {
// CHECK-NEXT:      exec.task zero
// CHECK-NEXT:      exec.task load microbatch 3 frame 1
// CHECK-NEXT:      exec.task run microbatch 3 frame 1 deps [0, 1]
// CHECK-NEXT:      exec.task transfer microbatch 3 queue 1 p2ps [<send channel 0 port 0>, <recv channel 0 port 1 offset 64 bytes 32>]
// CHECK-NEXT:      exec.task grad_sync queue 2 deps [2]
// CHECK-NEXT:      exec.task commit
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.schedule "idle"
// CHECK-NEXT:    exec.role "r0s0" replica 0 stage 0 class "h100" reports_loss
// CHECK-SAME:      first_microbatch 4 microbatches_per_copy 2 copy_family 1 programs [0] schedule 0 axis_families [0, 1]
// CHECK-SAME:      space_bytes [0, 1024, 1024] {
// CHECK-NEXT:      exec.frame bytes 4096 count 2 has_tokens tokens_at 64 has_labels labels_at 128
// CHECK-NEXT:      exec.port "in" comm offset 0 bytes 256
// CHECK-NEXT:      exec.port "out" frame offset 256 bytes 256
// CHECK-NEXT:      exec.sync_part 0 [<0 rows 1 of 48 decay>, <48 rows 4 of 8 stride 16>] optimizer 64 comm 0
// CHECK-NEXT:      exec.residence 0 offset 0 start [<0>, <0 + 3 * axis 0>] size [6, 4]
// CHECK-NEXT:      exec.component "parameters" 1024
// CHECK-NEXT:    }
// CHECK-NEXT:    exec.role "idle" replica 1 stage 2 programs [] schedule 1
// CHECK-NEXT:    exec.ranks role 0 of <0 counts [2] strides [1]>
// CHECK-NEXT:    exec.estimate bound_s 1.000000e+00 evaluate_s 1.250000e+00 simulated_s 1.500000e+00 candidates 100 simulated 3 {
// CHECK-NEXT:      exec.pruned "F-07" 42
// CHECK-NEXT:      exec.runner_up evaluate_s 2.000000e+00 simulated_s 2.500000e+00 peak_bytes 77 loses "slower" {
// CHECK-NEXT:        plan.solution @decisions schedule "gpipe" sharding "none" micro_batch 2 {
// CHECK:         exec.runner_up loses "no plan kept"
// CHECK-NEXT:    }
// CHECK-NEXT:  } cluster_json "{\22name\22: \22two\22}" model_ir "module {}\0A"
exec.plan format 1 world_size 2 {
  exec.provenance tool "plait 0.1" input_digests ["ab", "cd"] space "tp" solver "exact" objective "time"
  plan.solution @decisions schedule "1f1b" sharding "optimizer" micro_batch 1 {
    plan.replica microbatches 6 {
      plan.stage devices 0 count 2 uses 0 to 8 recompute "full" split_wgrad {
        plan.map "attention" [h cuts [4]]
      }
    }
    plan.replica copies 2 copy_stride 1 microbatches 1 {
      plan.stage devices 2 uses 0 to 8
    }
    plan.override replica 0 stage 0 microbatch 5 on replica 1
  }
  exec.job "tiny" seq_len 16 global_batch 8 micro_batch 1 vocab_size 509 precision <param = bf16, compute = bf16,
    saved = bf16, grad = f32, reduce = f32, master = f32, moments = f32> optimizer "adamw" flops_per_token 2.5e6
    parameters 1234567
  exec.tensor "wq" [6, 8] f32 hf "model.wq.weight" shape [8, 6] base 2 sizes [6, 8] strides [1, 6] init normal
    std 0.015625 decay
  exec.tensor "norm" [8] f32 init ones
  exec.tensor "bare" [8] bf16
  exec.family "tp" groups <0 counts [2] strides [4]> members <0 counts [4] strides [1]>
  exec.family "odd" members <0 listed [3, 1, 2]>
  exec.channel "c0" from <0> to <1 counts [2] strides [1]>
  exec.work "gemm" [4, 8, 2] f32 flops 128.0 read 192.0 written 32.0
  exec.work 999 [] none flops 0.0 read 0.0 written 0.0
  exec.pointwise "silu_mul" (element, row) -> [3] {
    exec.compute "sigmoid" [0]
    exec.compute "axpby" [2, 1] immediates [0.5, -2.0]
  }
  exec.routine "decoder.fwd" block "decoder" phase forward variant "none" {
    exec.slot "x" frame 128
    exec.slot "w" param 256
    exec.launch "gemm" work 0 [<0 [4, 8] f32>, <1 + 64 [8, 2] strides [4, 1] bf16>, <0 + 8 f32>] ints [0, 1, 0]
      doubles [1.0, 1.0e-6] offsets [<64>, <-1 + 32 * axis 1>, <0 + 0 * axis 2>] origin "linear q"
    exec.launch "pointwise" work 1 []
    exec.batch origin "reduce" {
      exec.collective all_reduce axis 0 in <0 [8] f32> out <0 [8] f32> reduce sum
      exec.collective broadcast axis 1 out <1 [8] f32> counts [3, 5] root 2
    }
    exec.batch
    exec.zero <1 [8] f32> origin "grad"
    exec.copy from <0 [8] f32> to <1 [8] f32>
  }
  exec.program "stage0.fwd" phase forward {
    exec.call 0 layer 0 bind [0, 512]
    exec.call 0 layer -1 bind [128, 768]
  }
  exec.sync "dp" family 0 elements 48 sharded cuts [0, 24, 48] silent [1]
  exec.schedule "train" {
    exec.task zero
    exec.task load microbatch 3 frame 1
    exec.task run microbatch 3 frame 1 deps [0, 1]
    exec.task transfer microbatch 3 queue 1 p2ps [<send channel 0 port 0>, <recv channel 0 port 1 offset 64 bytes 32>]
    exec.task grad_sync queue 2 deps [2]
    exec.task commit
  }
  exec.schedule "idle"
  exec.role "r0s0" replica 0 stage 0 class "h100" reports_loss
    first_microbatch 4 microbatches_per_copy 2 copy_family 1 programs [0] schedule 0 axis_families [0, 1]
    space_bytes [0, 1024, 1024] {
    exec.frame bytes 4096 count 2 has_tokens tokens_at 64 has_labels labels_at 128
    exec.port "in" comm offset 0 bytes 256
    exec.port "out" frame offset 256 bytes 256
    exec.sync_part 0 [<0 rows 1 of 48 decay>, <48 rows 4 of 8 stride 16>] optimizer 64 comm 0
    exec.residence 0 offset 0 start [<0>, <0 + 3 * axis 0>] size [6, 4]
    exec.component "parameters" 1024
  }
  exec.role "idle" replica 1 stage 2 programs [] schedule 1
  exec.ranks role 0 of <0 counts [2] strides [1]>
  exec.estimate bound_s 1.0 evaluate_s 1.25 simulated_s 1.5 candidates 100 simulated 3 {
    exec.pruned "F-07" 42
    exec.runner_up evaluate_s 2.0 simulated_s 2.5 peak_bytes 77 loses "slower" {
      plan.solution @decisions schedule "gpipe" sharding "none" micro_batch 2 {
        plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 8 }
      }
    }
    exec.runner_up loses "no plan kept"
  }
} cluster_json "{\22name\22: \22two\22}" model_ir "module {}\0A"
