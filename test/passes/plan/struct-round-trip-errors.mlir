// RUN: plait-opt %s -split-input-file -verify-diagnostics --plan-struct-round-trip

// expected-error @below {{precision "f32,f32": expected a name, or seven types out of f32, bf16, f16, f64 for param, compute, saved, grad, reduce, master, moments}}
plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
  plan.job global_batch 1 seq_len 8 precision "f32,f32" optimizer "sgd"
}

// -----

// expected-error @below {{precision "f32,f32,f32,f32,f32,f32,i32": expected a name}}
plan.problem @p {
  plan.cluster "c" { plan.domain "d" }
  plan.job global_batch 1 seq_len 8 precision "f32,f32,f32,f32,f32,f32,i32" optimizer "sgd"
}
