// What parameters, block definitions and uses refuse.
// RUN: plait-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{needs positive static sizes whose product fits 64 bits, got 'tensor<?x4xf32>'}}
model.param @a : tensor<?x4xf32> init zeros

// -----

// expected-error @+1 {{needs positive static sizes whose product fits 64 bits}}
model.param @a : tensor<4294967296x4294967296xf32> init zeros

// -----

// expected-error @+1 {{needs both hf_sizes and hf_strides or neither}}
model.param @a : tensor<4xf32> init zeros {hf_sizes = array<i64: 4>}

// -----

// expected-error @+1 {{hf_sizes and hf_strides must be equally long}}
model.param @a : tensor<4xf32> init zeros {hf_sizes = array<i64: 4>, hf_strides = array<i64: 1, 1>}

// -----

// expected-error @+1 {{hf_sizes must have as many elements as 'tensor<4xf32>'}}
model.param @a : tensor<4xf32> init zeros {hf_sizes = array<i64: 5>, hf_strides = array<i64: 1>}

// -----

// expected-error @+1 {{init_std must be finite and not negative}}
model.param @a : tensor<4xf32> init normal {init_std = -1.0 : f64}

// -----

// expected-error @+1 {{has unknown input 'z'; known are x, tokens, labels, loss_scale}}
model.block_def @b forward (%z: tensor<?x?x8xf32>) params() { model.yield %z : tensor<?x?x8xf32> }

// -----

// expected-error @+1 {{input 'tokens' must be a tensor of i32, got 'tensor<?x?xf32>'}}
model.block_def @b forward (%tokens: tensor<?x?xf32>) params() { model.yield %tokens : tensor<?x?xf32> }

// -----

// expected-error @+1 {{input 'loss_scale' must be tensor<1xf32>, got 'tensor<2xf32>'}}
model.block_def @b forward (%loss_scale: tensor<2xf32>) params() { model.yield %loss_scale : tensor<2xf32> }

// -----

// expected-error @+1 {{parameter 'w' must be a static tensor of f32, got 'tensor<?xf32>'}}
model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<?xf32>) { model.yield %x : tensor<?x?x8xf32> }

// -----

// expected-error @+1 {{without 'of' must be a forward phase without saved or carried arguments}}
model.block_def @b backward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }

// -----

// expected-error @+1 {{needs both 'variant' and 'of', as a made definition has, or neither, as an imported one}}
model.block_def @b forward variant "none" (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }

// -----

// expected-error @+1 {{has unknown variant 'some'; known are none, selective, full}}
model.block_def @b forward variant "some" of @a (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{of a forward phase must yield y or the loss}}
  model.yield
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{must yield one output at most}}
  model.yield %x, %x : tensor<?x?x8xf32>, tensor<?x?x8xf32>
}

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() {
  // expected-error @+1 {{is not a computing op of the model dialect}}
  %0 = builtin.unrealized_conversion_cast %x : tensor<?x?x8xf32> to tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}

// -----

// expected-error @+1 {{custom op 'model.block_def' expected string or keyword containing one of the following enum values for attribute 'phase'}}
model.block_def @b sideways (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }

// -----

// expected-error @+1 {{uses unknown block @nothing}}
model.use @nothing params []

// -----

model.block_def @b forward variant "none" of @a (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{must use an imported definition, not @b, which is made from @a}}
model.use @b params []

// -----

// expected-note @+1 {{defined here}}
model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{gives 0 parameters, @b has 1}}
model.use @b params []

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{uses unknown parameter @p}}
model.use @b params [@p]

// -----

model.param @p : tensor<9xf32> init zeros
model.block_def @b forward (%x: tensor<?x?x8xf32>) params(%w: tensor<8xf32>) { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{parameter @p has type 'tensor<9xf32>', @b needs 'tensor<8xf32>' for 'w'}}
model.use @b params [@p]

// -----

model.block_def @b forward (%x: tensor<?x?x8xf32>) params() { model.yield %x : tensor<?x?x8xf32> }
// expected-error @+1 {{layer must not be negative}}
model.use @b layer -1 params []
