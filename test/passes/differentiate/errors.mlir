// What --model-differentiate refuses.
// RUN: plait-opt %s -split-input-file -verify-diagnostics --model-differentiate

// expected-error @+1 {{does not read parameter 'w'}}
model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }

// -----

// expected-error @+1 {{reads parameter 'w' in more than one op; a tied tensor needs one parameter per op}}
model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8x8xf32>) {
  %0 = model.linear %x, %w : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  %1 = model.linear %0, %w : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  model.yield %1 : tensor<?x?x8xf32>
}

// -----

// expected-error @+1 {{has an output that does not depend on parameter 'w'}}
model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8x8xf32>) {
  %0 = model.linear %x, %w : (tensor<?x?x8xf32>, tensor<8x8xf32>) -> tensor<?x?x8xf32>
  model.yield %x : tensor<?x?x8xf32>
}

// -----

// expected-error @+1 {{has an output that does not depend on 'x'}}
model.block_def @b forward (%x: tensor<?x?x8xf32>, %tokens: tensor<?x?xi32>) params(%w: tensor<9x8xf32>) {
  %0 = model.embedding %tokens, %w : (tensor<?x?xi32>, tensor<9x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

// expected-error @+1 {{yields a loss and needs input 'loss_scale', its gradient}}
model.block_def @b forward (%x: tensor<?x?x8xf32>, %labels: tensor<?x?xi32>) params() {
  %m = model.row_max %x : (tensor<?x?x8xf32>) -> tensor<?x?xf32>
  %z = model.row_sum_exp %x, %m : (tensor<?x?x8xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %t = model.row_pick %x, %labels : (tensor<?x?x8xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  %l, %loss = model.cross_entropy %m, %z, %t, %labels
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  model.yield %loss : tensor<1xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{'model.generic' op has no gradient}}
  %0 = model.generic "x[s b c] -> y[s b c]"(%x) : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) {
  // expected-error @+1 {{'model.rms_norm' op has a gradient for y only}}
  %0, %r = model.rms_norm %x, %w {eps = 0.25 : f64} : (tensor<?x?x8xf32>, tensor<8xf32>) -> (tensor<?x?x8xf32>, tensor<?x?xf32>)
  model.yield %r : tensor<?x?xf32>
}

// -----

model.block_def @a forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{is made from another definition: the module is differentiated already}}
model.block_def @b forward variant "none" of @a (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
