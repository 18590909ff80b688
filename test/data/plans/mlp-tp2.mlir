// Two MLP layers between embedding and head, two tensor-parallel devices: small enough to read every phase of it.
module attributes {model.name = "mlps", model.family = "test", model.vocab_size = 12 : i64} {
  model.block_def @embedding forward (%tokens: tensor<?x?xi32>) params(%table: tensor<12x8xf32>) {
    %0 = model.embedding %tokens, %table {segment = "embedding"} : (tensor<?x?xi32>, tensor<12x8xf32>) -> tensor<?x?x8xf32>
    model.yield %0 : tensor<?x?x8xf32>
  }
  model.block_def @mlp forward (%x: tensor<?x?x8xf32>) params(%up: tensor<32x8xf32>, %down: tensor<8x32xf32>) {
    %0 = model.linear %x, %up {segment = "mlp"} : (tensor<?x?x8xf32>, tensor<32x8xf32>) -> tensor<?x?x32xf32>
    %1 = model.activation gelu %0 {segment = "mlp"} : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
    %2 = model.linear %1, %down {segment = "mlp"} : (tensor<?x?x32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
    model.yield %2 : tensor<?x?x8xf32>
  }
  model.block_def @head forward (%x: tensor<?x?x8xf32>, %labels: tensor<?x?xi32>, %loss_scale: tensor<1xf32>)
      params(%w: tensor<12x8xf32>) {
    %0 = model.linear %x, %w {segment = "head"} : (tensor<?x?x8xf32>, tensor<12x8xf32>) -> tensor<?x?x12xf32>
    %m = model.row_max %0 {segment = "head"} : (tensor<?x?x12xf32>) -> tensor<?x?xf32>
    %z = model.row_sum_exp %0, %m {segment = "head"} : (tensor<?x?x12xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
    %t = model.row_pick %0, %labels {segment = "head"} : (tensor<?x?x12xf32>, tensor<?x?xi32>) -> tensor<?x?xf32>
    %l, %loss = model.cross_entropy %m, %z, %t, %labels {segment = "head"}
        : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>) -> (tensor<?x?xf32>, tensor<1xf32>)
    model.yield %loss : tensor<1xf32>
  }
  model.param @table : tensor<12x8xf32> init normal
  model.param @up0 : tensor<32x8xf32> init normal
  model.param @down0 : tensor<8x32xf32> init normal
  model.param @up1 : tensor<32x8xf32> init normal
  model.param @down1 : tensor<8x32xf32> init normal
  model.param @w : tensor<12x8xf32> init normal
  model.use @embedding params [@table]
  model.use @mlp layer 0 params [@up0, @down0]
  model.use @mlp layer 1 params [@up1, @down1]
  model.use @head params [@w]

  plan.problem @problem {
    plan.cluster "pair" {
      plan.class "cpu" facts "cpu" memory 1 GiB
      plan.domain "node" class "cpu" devices 2 link "shm"
    }
    plan.job global_batch 2 seq_len 4 precision "fp32" optimizer "sgd"
    plan.space
  }
  plan.solution @solution schedule "1f1b" sharding "none" micro_batch 1 {
    plan.replica microbatches 2 {
      plan.stage devices 0 count 2 uses 0 to 4 {
        plan.map "embedding" [v]
        plan.map "mlp" [i]
        plan.map "head" [v]
      }
    }
  }
}
