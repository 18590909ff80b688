// What --model-verify-differentiated refuses. Each case starts from phases that fit and spoils one thing.
// RUN: plait-opt %s -split-input-file -verify-diagnostics --model-verify-differentiated

// expected-error @+1 {{must have one definition of phase forward, variant none, found 0}}
model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> saved(%x : tensor<?x?x8xf32>) }
// expected-error @+1 {{takes other saved values than the phase before it leaves}}
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bp backward_weight variant "none" of @b () params() { model.yield }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{must yield the gradient of x, if there is one}}
  model.yield
}
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bp backward_weight variant "none" of @b () params() { model.yield }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) {
  // expected-error @+1 {{must yield one gradient per parameter}}
  model.yield %dy : tensor<?x?x8xf32>
}
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bp backward_weight variant "none" of @b () params(%w: tensor<8xf32>) { model.yield }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{must have the parameters of @b}}
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bp backward_weight variant "none" of @b () params(%w: tensor<8xf32>) { model.yield }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{must yield no parameter gradients}}
  model.yield %dy : tensor<?x?x8xf32> grads(%dy : tensor<?x?x8xf32>)
}
model.block_def @bp backward_weight variant "none" of @b () params() { model.yield }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
// expected-error @+1 {{takes other carried values than the phase before it leaves}}
model.block_def @bp backward_weight variant "none" of @b () params() carried(%c: tensor<?x?x8xf32>) { model.yield }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @f forward variant "none" of @b (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
model.block_def @bw backward variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> }
model.block_def @bi backward_input variant "none" of @b (%dy: tensor<?x?x8xf32>) params() { model.yield %dy : tensor<?x?x8xf32> carried(%dy : tensor<?x?x8xf32>) }
model.block_def @bp backward_weight variant "none" of @b () params() carried(%c: tensor<?x?x8xf32>) {
  // expected-error @+1 {{must yield no output}}
  model.yield %c : tensor<?x?x8xf32>
}
