// Rules, costs and memory of a plan as text: a pipeline of two stages in closed form.
// RUN: plait-opt %s --model-differentiate-pipeline --plan-check -o /dev/null

module attributes {model.name = "mlps", model.family = "test", model.vocab_size = 11 : i64} {

model.block_def @embedding forward (%tokens: tensor<?x?xi32>) params(%table: tensor<11x8xf32>) {
  %0 = model.embedding %tokens, %table {segment = "embedding"} : (tensor<?x?xi32>, tensor<11x8xf32>) -> tensor<?x?x8xf32>
  model.yield %0 : tensor<?x?x8xf32>
}
model.block_def @mlp forward (%x: tensor<?x?x8xf32>) params(%up: tensor<32x8xf32>, %down: tensor<8x32xf32>) {
  %0 = model.linear %x, %up {segment = "mlp"} : (tensor<?x?x8xf32>, tensor<32x8xf32>) -> tensor<?x?x32xf32>
  %1 = model.activation gelu %0 {segment = "mlp"} : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
  %2 = model.linear %1, %down {segment = "mlp"} : (tensor<?x?x32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
  model.yield %2 : tensor<?x?x8xf32>
}
model.block_def @head forward (%x: tensor<?x?x8xf32>, %labels: tensor<?x?xi32>, %loss_scale: tensor<1xf32>)
    params(%w: tensor<11x8xf32>) {
  %0 = model.linear %x, %w {segment = "head"} : (tensor<?x?x8xf32>, tensor<11x8xf32>) -> tensor<?x?x11xf32>
  %m = model.row_max %0 {segment = "head"} : (tensor<?x?x11xf32>) -> tensor<?x?xf32>
  %z = model.row_sum_exp %0, %m {segment = "head"} : (tensor<?x?x11xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %t = model.row_pick %0, %labels {segment = "head"} : (tensor<?x?x11xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
  %l, %loss = model.cross_entropy %m, %z, %t, %labels {segment = "head"}
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
  model.yield %loss : tensor<1xf32>
}

model.param @table : tensor<11x8xf32> init normal
model.param @up0 : tensor<32x8xf32> init normal
model.param @down0 : tensor<8x32xf32> init normal
model.param @up1 : tensor<32x8xf32> init normal
model.param @down1 : tensor<8x32xf32> init normal
model.param @up2 : tensor<32x8xf32> init normal
model.param @down2 : tensor<8x32xf32> init normal
model.param @up3 : tensor<32x8xf32> init normal
model.param @down3 : tensor<8x32xf32> init normal
model.param @w : tensor<11x8xf32> init normal
model.use @embedding params [@table]
model.use @mlp layer 0 params [@up0, @down0]
model.use @mlp layer 1 params [@up1, @down1]
model.use @mlp layer 2 params [@up2, @down2]
model.use @mlp layer 3 params [@up3, @down3]
model.use @head params [@w]

// Two of four equal layers a stage, 1 s each: (4 micro-batches + 1 to fill) x 2 s, and 0.5 s to update. The first stage
// holds two micro-batches, the second one.
plan.problem @pair {
  plan.cluster "pair" {
    plan.class "gpu" facts "h100-sxm" memory 80 GiB
    plan.domain "node" class "gpu" devices 2 link "nvlink4"
  }
  plan.job global_batch 4 seq_len 8 precision "fp32" optimizer "adamw"
  plan.costs tail 0.5 {
    plan.cost "embedding" tp 1 forward 0.0 backward_input 0.0 backward_weight 0.0 static 100
    plan.cost "mlp" tp 1 forward 0.25 backward_input 0.25 backward_weight 0.5 static 1000 saved 10
    plan.cost "head" tp 1 forward 0.0 backward_input 0.0 backward_weight 0.0 static 50
  }
  plan.expect @pipeline seconds 10.5 peak_bytes [2140, 2070]
}
plan.solution @pipeline schedule "1f1b" sharding "none" micro_batch 1 {
  plan.replica microbatches 4 {
    plan.stage devices 0 uses 0 to 3
    plan.stage devices 1 uses 3 to 6
  }
}
}
