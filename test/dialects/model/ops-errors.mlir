// What the rule of an op, and its attributes, refuse.
// RUN: plait-opt %s -split-input-file -verify-diagnostics

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<4x9xf32>) {
  // expected-error @+1 {{'model.linear' op factor 'k' is 8 elsewhere and 9 in operand 'w'}}
  %0 = model.linear %x, %w : (tensor<?x?x8xf32>, tensor<4x9xf32>) -> tensor<?x?x4xf32>
  model.yield %0 : tensor<?x?x4xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<4x8xf32>) {
  // expected-error @+1 {{factor 'n' is 4 elsewhere and 5 in result 'y'}}
  %0 = model.linear %x, %w : (tensor<?x?x8xf32>, tensor<4x8xf32>) -> tensor<?x?x5xf32>
  model.yield %0 : tensor<?x?x5xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x8xf32>) params(%w: tensor<4x8xf32>) {
  // expected-error @+1 {{operand 'x' must have rank 3, as x[s b k] says, got 'tensor<?x8xf32>'}}
  %0 = model.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x?x4xf32>
  model.yield %0 : tensor<?x?x4xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) {
  // expected-error @+1 {{operand 'c' has 1 dimensions where '...' is 3 elsewhere, got 'tensor<8xf32>'}}
  %0 = model.add %x, %w : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<2x3x8xf32>) params(%w: tensor<2x3x9xf32>) {
  // expected-error @+1 {{factor '...2' is 8 elsewhere and 9 in operand 'c'}}
  %0 = model.add %x, %w : (tensor<2x3x8xf32>, tensor<2x3x9xf32>) -> tensor<2x3x8xf32>
  model.yield %0 : tensor<2x3x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{heads 4 must be a multiple of kv_heads 3}}
  %o, %lse = model.attention %x, %x, %x {heads = 4 : i64, kv_heads = 3 : i64, head_dim = 2 : i64, scale = 0.5 : f64}
      : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x4xf32>)
  model.yield %o : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>) params() {
  // expected-error @+1 {{operand 'k' has 8 elements in a dimension of k[t b (g d)] that must have 4}}
  %o, %lse = model.attention %x, %x, %x {heads = 4 : i64, kv_heads = 2 : i64, head_dim = 2 : i64, scale = 0.5 : f64}
      : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x4xf32>)
  model.yield %o : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{attribute 'kv_heads' failed to satisfy constraint: 64-bit integer whose value is positive}}
  %o, %lse = model.attention %x, %x, %x {heads = 4 : i64, kv_heads = 0 : i64, head_dim = 2 : i64, scale = 0.5 : f64}
      : (tensor<?x?x8xf32>, tensor<?x?x8xf32>, tensor<?x?x8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x4xf32>)
  model.yield %o : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<3xf32>) {
  // expected-error @+1 {{operand 'x' has 8 elements in a dimension of x[s b (h d)] that must be a multiple of 3}}
  %0, %r = model.rms_norm %x, %w {eps = 0.25 : f64} : (tensor<?x?x8xf32>, tensor<3xf32>) -> (tensor<?x?x8xf32>, tensor<?x?x?xf32>)
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{rotary_dim 6 must be even and at most head_dim 4}}
  %0 = model.rope %x {head_dim = 4 : i64, rotary_dim = 6 : i64, inv_freq = array<f64: 1.0, 1.0, 1.0>} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{needs 2 inv_freq, half of rotary_dim, got 1}}
  %0 = model.rope %x {head_dim = 4 : i64, rotary_dim = 4 : i64, inv_freq = array<f64: 1.0>} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>, %labels: tensor<?x?xi32>) params() {
  %m = model.row_max %x : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  // expected-error @+1 {{operands m, z, t must come from row_max, row_sum_exp, row_pick}}
  %l, %loss = model.cross_entropy %m, %m, %m, %labels
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  model.yield %loss : tensor<1xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>, %labels: tensor<?x?xi32>) params() {
  %m = model.row_max %x : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  %z = model.row_sum_exp %x, %m : (tensor<?x?x8xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %o = model.scale %x {factor = 2.0 : f64} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %t = model.row_pick %o, %labels : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  // expected-error @+1 {{operands m, z, t must come from the same logits}}
  %l, %loss = model.cross_entropy %m, %z, %t, %labels
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  model.yield %loss : tensor<1xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>, %labels: tensor<?x?xi32>, %tokens: tensor<?x?xi32>) params() {
  %m = model.row_max %x : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  %z = model.row_sum_exp %x, %m : (tensor<?x?x8xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %t = model.row_pick %x, %labels : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  // expected-error @+1 {{must have the labels of row_pick}}
  %l, %loss = model.cross_entropy %m, %z, %t, %tokens
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  model.yield %loss : tensor<1xf32>
}

// -----

model.block_def @b backward variant "none" of @a (%dy: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>) params() saved(%scale: tensor<2xf32>, %l: tensor<?x?xf32>) {
  // expected-error @+1 {{operand 'scale' must have size 1 where scale[1] says so, got 'tensor<2xf32>'}}
  %d = model.cross_entropy_grad %dy, %l, %tokens, %scale
      : (tensor<?x?x8xf32>, tensor<?x?xf32>, tensor<?x?xi32>, tensor<2xf32>) -> tensor<?x?x8xf32>
  model.yield %d : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{malformed rule: a factor disappears without a mark at ''}}
  %0 = model.generic "x[s b c] -> y[s b]"(%x) : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  model.yield %0 : tensor<?x?xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{malformed rule: expected '[' at 'y'}}
  %0 = model.generic "x[s b c], z y"(%x) : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  model.yield %0 : tensor<?x?xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{unknown kernel 'gem'; the nearest known is 'gemm'}}
  %0 = model.generic "x[s b c] -> y[s b c]"(%x) kernel "gem" : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{must have 2 operands, as its rule says, got 1}}
  %0 = model.generic "x[s b c], z[c] -> y[s b c]"(%x) : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{must have 1 results, as its rule says, got 0}}
  model.generic "x[s b c] -> y[s b c]"(%x) : (tensor<?x?x8xf32>) -> ()
  model.yield %x : tensor<?x?x8xf32>
}
