// RUN: plait-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{has format 0, which means "not a plan"}}
exec.plan format 0 world_size 0 {
}

// -----

exec.plan format 1 world_size 1 {
  // expected-note @below {{first one is here}}
  exec.provenance tool "a"
  // expected-error @below {{stands twice in one plan}}
  exec.provenance tool "b"
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{cannot stand in exec.plan}}
  builtin.module {}
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    exec.slot "x" frame 4
    // expected-error @below {{slot 1 does not exist; the routine has 1 slots, numbered from 0}}
    exec.zero <1 [1] f32>
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    // expected-error @below {{slot 0 does not exist; the routine has 0 slots, numbered from 0}}
    exec.launch "gemm" work 0 [<0 [1] f32>]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    exec.batch {
      // expected-error @below {{slot 2 does not exist; the routine has 0 slots, numbered from 0}}
      exec.collective all_reduce axis 0 out <2 [1] f32>
    }
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    exec.slot "x" frame 4
    // expected-error @below {{slot 3 does not exist; the routine has 1 slots, numbered from 0}}
    exec.copy from <0 [1] f32> to <3 [1] f32>
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    // expected-error @below {{names exec.work 0; the plan has 0, numbered from 0}}
    exec.launch "gemm" work 0 []
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.work "pointwise" [] f32 flops 0.0 read 0.0 written 0.0
  exec.routine "r" {
    // expected-error @below {{names exec.pointwise 0; the plan has 0, numbered from 0}}
    exec.launch "pointwise" work 0 []
  }
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{there is no kernel "gem"; the nearest is "gemm"}}
  exec.work "gem" [] f32 flops 0.0 read 0.0 written 0.0
}

// -----

exec.plan format 1 world_size 1 {
  exec.pointwise "p" (element) -> [1] {
    // expected-error @below {{there is no pointwise operation "sine"; the nearest is "min"}}
    exec.compute "sine" [0]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.pointwise "p" (element) -> [1] {
    // expected-error @below {{there is no pointwise operation 1000}}
    exec.compute 1000 [0]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.pointwise "p" (element) -> [1] {
    // expected-error @below {{mul takes 2 operands, not 1}}
    exec.compute "mul" [0]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.pointwise "p" (element) -> [1] {
    // expected-error @below {{operand 1 is not computed yet; 1 values are}}
    exec.compute "exp" [1]
  }
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{output 2 does not exist; there are 2 values}}
  exec.pointwise "p" (element) -> [2] {
    exec.compute "exp" [0]
  }
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{input is "column"; an input is element or row}}
  exec.pointwise "p" (column) -> [0]
}

// -----

exec.plan format 1 world_size 1 {
  exec.program "p" {
    // expected-error @below {{names exec.routine 2; the plan has 0, numbered from 0}}
    exec.call 2 layer 0 bind []
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    exec.slot "x" frame 4
  }
  exec.program "p" {
    // expected-error @below {{binds 2 slots; routine "r" has 1}}
    exec.call 0 layer 0 bind [0, 4]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.schedule "s" {
    exec.task zero
    // expected-error @below {{task 1 waits for task 1, which does not stand before it}}
    exec.task commit deps [1]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.schedule "s" {
    // expected-error @below {{names exec.channel 4; the plan has 0, numbered from 0}}
    exec.task transfer p2ps [<send channel 4 port 0>]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.schedule "s" {
    // expected-error @below {{names exec.sync 0; the plan has 0, numbered from 0}}
    exec.task grad_sync
  }
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{names exec.family 3; the plan has 0, numbered from 0}}
  exec.sync "s" family 3 elements 1
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{names exec.program 0; the plan has 0, numbered from 0}}
  exec.role "r" replica 0 stage 0 programs [0] schedule 0
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{names exec.schedule 0; the plan has 0, numbered from 0}}
  exec.role "r" replica 0 stage 0 programs [] schedule 0
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{names exec.family 2; the plan has 0, numbered from 0}}
  exec.role "r" replica 0 stage 0 microbatches_per_copy 1 copy_family 2 programs [] schedule 0
}

// -----

exec.plan format 1 world_size 1 {
  exec.schedule "s"
  exec.role "r" replica 0 stage 0 programs [] schedule 0 {
    // expected-error @below {{names exec.tensor 0; the plan has 0, numbered from 0}}
    exec.residence 0 offset 0 start [] size []
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.program "p"
  exec.schedule "s" {
    // expected-error @below {{names program 1; role "r" has 1, numbered from 0}}
    exec.task run program 1
  }
  // expected-note @below {{the role is here}}
  exec.role "r" replica 0 stage 0 programs [0] schedule 0
}

// -----

exec.plan format 1 world_size 1 {
  exec.program "p" frame_class 1
  exec.schedule "s" {
    // expected-error @below {{names frame class 1; role "r" has 1, numbered from 0}}
    exec.task run
  }
  // expected-note @below {{the role is here}}
  exec.role "r" replica 0 stage 0 programs [0] schedule 0 {
    exec.frame bytes 1 count 1
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.program "p"
  exec.schedule "s" {
    // expected-error @below {{names frame 2; role "r" has 2, numbered from 0}}
    exec.task run frame 2
  }
  // expected-note @below {{the role is here}}
  exec.role "r" replica 0 stage 0 programs [0] schedule 0 {
    exec.frame bytes 1 count 2
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.channel "c"
  exec.schedule "s" {
    // expected-error @below {{names port 0; role "r" has 0, numbered from 0}}
    exec.task transfer p2ps [<recv channel 0 port 0>]
  }
  // expected-note @below {{the role is here}}
  exec.role "r" replica 0 stage 0 programs [] schedule 0
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{names exec.role 0; the plan has 0, numbered from 0}}
  exec.ranks role 0 of <0>
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{rank set has 2 counts and 1 strides}}
  exec.ranks role 0 of <0 counts [1, 2] strides [1]>
}

// -----

exec.plan format 1 world_size 1 {
  exec.schedule "s" {
    // expected-error @below {{expected string or keyword containing one of the following enum values for attribute 'kind' [none, zero, load, run, transfer, grad_sync, vote, apply, param_gather, commit]}}
    exec.task jump
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.schedule "s" {
    // expected-error @below {{expected 'recv' or `send`}}
    exec.task transfer p2ps [<pull channel 0 port 0>]
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.estimate {
    // expected-error @below {{holds more than one plan.solution}}
    exec.runner_up {
      plan.solution @a schedule "1f1b" sharding "none" micro_batch 1 {
        plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
      }
      plan.solution @b schedule "1f1b" sharding "none" micro_batch 1 {
        plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
      }
    }
  }
}

// -----

exec.plan format 1 world_size 1 {
  exec.estimate {
    // expected-error @below {{cannot stand in exec.estimate, which holds exec.pruned, exec.runner_up}}
    builtin.module {}
  }
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{expects parent op 'exec.routine'}}
  exec.slot "x" frame 4
}

// -----

exec.plan format 1 world_size 1 {
  exec.routine "r" {
    exec.slot "x" frame 4
    // expected-error @below {{there is no element type 'f31'; types are f32, bf16, f16, f64, i32, none}}
    exec.zero <0 [1] f31>
  }
}

// -----

exec.plan format 1 world_size 1 {
  // expected-error @below {{rank set lists -1; its numbers are not negative and fit 32 bits}}
  exec.ranks role 0 of <0 listed [-1]>
}

// -----

exec.plan format 1 world_size 1 {
  exec.family "f"
  // expected-error @below {{silent lists member 4294967296; members are not negative and fit 32 bits}}
  exec.sync "s" family 0 elements 1 silent [4294967296]
}
