// Tiny Llama (uses: 0 embedding, 1..6 decoder layers, 7 head) on 8 devices. Nothing is uniform: replica 0 is
// tensor-parallel over 3 devices in 2 stages and cuts the layers 4 + 2, replica 1 has one device a stage and cuts them
// 3 + 3; the replicas share the batch 6 : 2, and replica 0 splits its backward. As slice-a, with the residual stream of
// replica 0 split along the sequence (sequence parallelism).
plan.solution @slice_c schedule "1f1b" sharding "optimizer" micro_batch 1 {
  plan.replica microbatches 6 {
    plan.stage devices 0 count 3 uses 0 to 5 split_wgrad {
      plan.map "stream" [s]
      plan.map "embedding" [v]
      plan.map "attention" [h]
      plan.map "mlp" [i]
    }
    plan.stage devices 3 count 3 uses 5 to 8 split_wgrad {
      plan.map "stream" [s]
      plan.map "attention" [h]
      plan.map "mlp" [i]
      plan.map "head" [v]
    }
  }
  plan.replica microbatches 2 {
    plan.stage devices 6 uses 0 to 4
    plan.stage devices 7 uses 4 to 8
  }
}
