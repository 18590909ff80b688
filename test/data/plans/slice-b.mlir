// Tiny Llama (uses: 0 embedding, 1..6 decoder layers, 7 head) on 8 devices. Both replicas cut the layers 4 + 2, so that
// a micro-batch can change over: the last one of replica 0 runs its second stage on replica 1.
plan.solution @slice_b schedule "1f1b" sharding "optimizer" micro_batch 1 {
  plan.replica microbatches 6 {
    plan.stage devices 0 count 3 uses 0 to 5 split_wgrad {
      plan.map "embedding" [v]
      plan.map "attention" [h]
      plan.map "mlp" [i]
    }
    plan.stage devices 3 count 3 uses 5 to 8 split_wgrad {
      plan.map "attention" [h]
      plan.map "mlp" [i]
      plan.map "head" [v]
    }
  }
  plan.replica microbatches 2 {
    plan.stage devices 6 uses 0 to 5
    plan.stage devices 7 uses 5 to 8
  }
  plan.override replica 0 stage 1 microbatch 5 on replica 1
}
