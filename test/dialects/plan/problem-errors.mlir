// RUN: plait-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{has no plan.cluster}}
plan.problem @p {
  plan.job global_batch 1 seq_len 8 precision "fp32" optimizer "sgd"
}

// -----

// expected-error @below {{has no plan.job}}
plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
}

// -----

plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
  // expected-note @below {{first one is here}}
  plan.job global_batch 1 seq_len 8 precision "fp32" optimizer "sgd"
  // expected-error @below {{stands twice in one problem}}
  plan.job global_batch 2 seq_len 8 precision "fp32" optimizer "sgd"
}

// -----

plan.problem @p {
  // expected-error @below {{cannot stand in plan.problem, which holds plan.cluster, plan.job, plan.space, plan.costs, plan.expect}}
  builtin.module {}
}

// -----

plan.problem @p {
  // expected-error @below {{has no domain; a cluster needs at least one plan.domain}}
  plan.cluster "c" {
  }
  plan.job global_batch 1 seq_len 8 precision "fp32" optimizer "sgd"
}

// -----

plan.problem @p {
  plan.cluster "c" {
    plan.class "k" facts "f" memory 1 GiB
    // expected-error @below {{device class "k" is defined twice}}
    plan.class "k" facts "f" memory 2 GiB
    plan.domain "d"
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    // expected-error @below {{is the first domain, the root, and cannot be `in` another}}
    plan.domain "d" in "e"
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    plan.domain "d"
    // expected-error @below {{domain "e" names no parent; only the first domain is a root}}
    plan.domain "e"
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    plan.domain "d"
    // expected-error @below {{parent "f" is not a domain above this one}}
    plan.domain "e" in "f"
    plan.domain "f" in "d"
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    // expected-error @below {{device class "k" is not defined in this cluster}}
    plan.domain "d" class "k" devices 2
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    // expected-error @below {{holds devices only with both `class` and `devices`}}
    plan.domain "d" devices 2
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    plan.domain "d"
    // expected-error @below {{domain "d" is defined twice}}
    plan.domain "d" in "d"
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    // expected-error @below {{17000000 TiB does not fit 64 bits}}
    plan.class "k" facts "f" memory 17000000 TiB
  }
}

// -----

plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
  // expected-error @below {{global_batch counts sequences, seq_len tokens; both are at least 1}}
  plan.job global_batch 0 seq_len 8 precision "fp32" optimizer "sgd"
}

// -----

plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
  plan.job global_batch 1 seq_len 8 precision "fp32" optimizer "sgd"
  // expected-error @below {{pp lists 0; degrees are at least 1 and fit 32 bits}}
  plan.space tp [1, 2] pp [0]
}

// -----

plan.problem @p {
  plan.costs {
    // expected-error @below {{tp is 0; a degree is at least 1}}
    plan.cost "decoder" tp 0 forward 1.0 backward_input 1.0 backward_weight 1.0
  }
}

// -----

plan.problem @p {
  plan.costs {
    // expected-error @below {{backward_input is -1.000000e+00; it is finite and not negative}}
    plan.cost "decoder" tp 1 forward 1.0 backward_input -1.0 backward_weight 1.0
  }
}

// -----

plan.problem @p {
  // expected-error @below {{tail is -2.000000e+00; it is finite and not negative}}
  plan.costs tail -2.0 {
  }
}

// -----

plan.problem @p {
  // expected-error @below {{slowdown lists 0.000000e+00; factors are positive}}
  plan.costs slowdown [1.0, 0.0] {
  }
}

// -----

plan.problem @p {
  plan.costs {
    // expected-error @below {{cannot stand in plan.costs, which holds plan.cost}}
    builtin.module {}
  }
}

// -----

plan.problem @p {
  plan.cluster "c" {
    // expected-error @below {{cannot stand in plan.cluster, which holds plan.class, plan.domain}}
    builtin.module {}
  }
}

// -----

plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
  plan.job global_batch 1 seq_len 8 precision "fp32" optimizer "sgd"
  // expected-error @below {{@nowhere is not a plan.solution of this module}}
  plan.expect @nowhere seconds 1.0
}
