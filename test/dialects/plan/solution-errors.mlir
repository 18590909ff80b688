// RUN: plait-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{micro_batch is 0; it counts sequences and is at least 1}}
plan.solution @s schedule "1f1b" sharding "none" micro_batch 0 {
  plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
}

// -----

// expected-error @below {{has no replica; a plan needs at least one plan.replica}}
plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
  // expected-error @below {{cannot stand in plan.solution, which holds plan.replica, plan.override}}
  builtin.module {}
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{has 0 copies; leave `copies` out for one}}
  plan.replica copies 0 microbatches 1 { plan.stage devices 0 uses 0 to 1 }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{puts 2 copies on the same devices; give copy_stride}}
  plan.replica copies 2 microbatches 1 { plan.stage devices 0 uses 0 to 1 }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{has no stage; a replica needs at least one plan.stage}}
  plan.replica microbatches 1 {
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 {
    plan.stage devices 0 uses 0 to 1
    // expected-error @below {{cannot stand in plan.replica, which holds plan.stage}}
    builtin.module {}
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{has no device; count is at least 1}}
  plan.replica microbatches 1 { plan.stage devices 0 count 0 uses 0 to 1 }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{names one device 2 times; stride is at least 1}}
  plan.replica microbatches 1 { plan.stage devices 0 count 2 stride 0 uses 0 to 1 }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{uses 3 to 3 is empty; `uses A to B` runs A, ..., B - 1 of the chain}}
  plan.replica microbatches 1 { plan.stage devices 0 uses 3 to 3 }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 {
    plan.stage devices 0 uses 0 to 1 {
      // expected-note @below {{first map is here}}
      plan.map "mlp" [i]
      // expected-error @below {{segment "mlp" has two maps in one stage}}
      plan.map "mlp" [h]
    }
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 {
    plan.stage devices 0 uses 0 to 1 {
      // expected-error @below {{cannot stand in plan.stage, which holds plan.map}}
      builtin.module {}
    }
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 {
    plan.stage devices 0 uses 0 to 1 {
      // expected-error @below {{splits no factor; leave the map out to replicate the segment}}
      plan.map "mlp" []
    }
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 {
    plan.stage devices 0 uses 0 to 1 {
      // expected-error @below {{splits factor "i" twice}}
      plan.map "mlp" [i, i cuts [1]]
    }
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 {
    plan.stage devices 0 uses 0 to 1 {
      // expected-error @below {{cuts [4, 2] of factor "h" do not ascend from 1; they are interior boundaries in units of the factor}}
      plan.map "attention" [h cuts [4, 2]]
    }
  }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
  // expected-error @below {{replica 1 does not exist; the solution has 1 replicas, numbered from 0}}
  plan.override replica 1 stage 0 microbatch 0 on replica 0
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
  // expected-error @below {{executor 2 does not exist; the solution has 1 replicas, numbered from 0}}
  plan.override replica 0 stage 0 microbatch 0 on replica 2
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 1 { plan.stage devices 0 uses 0 to 1 }
  // expected-error @below {{stage 4 does not exist; replica 0 has 1 stages, numbered from 0}}
  plan.override replica 0 stage 4 microbatch 0 on replica 0
}

// -----

// expected-error @below {{expects parent op 'plan.solution'}}
plan.override replica 0 stage 0 microbatch 0 on replica 0

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{negative integer literal not valid for unsigned integer type}}
  plan.replica microbatches -1 { plan.stage devices 0 uses 0 to 1 }
}

// -----

plan.solution @s schedule "1f1b" sharding "none" micro_batch 1 {
  // expected-error @below {{integer constant out of range for attribute}}
  plan.replica microbatches 4294967296 { plan.stage devices 0 uses 0 to 1 }
}
