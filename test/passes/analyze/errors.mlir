// What the analysis refuses.
// RUN: plait-opt %s -split-input-file -verify-diagnostics --model-print-summary

// expected-error @+1 {{a model needs the attributes 'model.name', 'model.family' (strings) and 'model.vocab_size' (positive integer)}}
module attributes {model.name = "m", model.family = "llama", model.vocab_size = 0 : i64} {
}

// -----

module attributes {model.name = "m", model.family = "llama", model.vocab_size = 9 : i64} {
  // expected-error @+1 {{has no phase forward, variant none; run --model-differentiate first}}
  model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
}

// -----

module attributes {model.name = "m", model.family = "llama", model.vocab_size = 9 : i64} {
  model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
  model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
  // expected-error @+1 {{takes 1 saved values, the phase before it leaves 0}}
  model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() saved(%s: tensor<?x?x8xf32>) { model.yield %dy : tensor<?x?x8xf32> }
}
