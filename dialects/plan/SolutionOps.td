// Ops that mirror cost_model/problem/Solution.h.
#ifndef PLAIT_DIALECTS_PLAN_SOLUTIONOPS_TD
#define PLAIT_DIALECTS_PLAN_SOLUTIONOPS_TD

include "dialects/plan/PlanAttrs.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_SolutionOp : Plan_Op<"solution", [Symbol, SingleBlock, NoTerminator]> {
  let summary = "a parallel plan: what was chosen";
  let description = [{
    ```mlir
    plan.solution @uneven schedule "1f1b" sharding "optimizer" micro_batch 1 {
      plan.replica microbatches 6 {
        plan.stage devices 0 count 3 uses 0 to 8 split_wgrad {
          plan.map "attention" [h cuts [2, 4]]
          plan.map "mlp" [i]
        }
      }
    }
    ```
    Replicas are numbered in order, and so are the stages of a replica. `micro_batch` counts sequences.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$schedule, StrAttr:$sharding, SI64Attr:$micro_batch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `schedule` $schedule `sharding` $sharding `micro_batch` $micro_batch $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_ReplicaOp : Plan_Op<"replica", [SingleBlock, NoTerminator, HasParent<"SolutionOp">]> {
  let summary = "a pipeline, or several identical ones";
  let description = [{
    `copies` pipelines, copy c on devices shifted by c * `copy_stride`; each takes `microbatches` micro-batches of the
    global batch, replica after replica and copy after copy.
  }];
  let arguments = (ins DefaultValuedAttr<U32Attr, "1">:$copies, DefaultValuedAttr<U32Attr, "0">:$copy_stride,
                       U32Attr:$microbatches);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`copies` $copies^)? (`copy_stride` $copy_stride^)? `microbatches` $microbatches $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_StageOp : Plan_Op<"stage", [SingleBlock, NoTerminator, HasParent<"ReplicaOp">]> {
  let summary = "consecutive uses of the chain on one tensor-parallel group";
  let description = [{
    Runs uses [A, B) of `uses A to B` on `count` devices first, first + stride, ... Recomputation variants are "none"
    (left out), "selective" and "full". `split_wgrad` runs the backward as two tasks, the input gradient first.
  }];
  let arguments = (ins U32Attr:$first, DefaultValuedAttr<U32Attr, "1">:$count,
                       DefaultValuedAttr<U32Attr, "1">:$stride, U32Attr:$first_use, U32Attr:$end_use,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$recompute, UnitAttr:$split_wgrad);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `devices` $first (`count` $count^)? (`stride` $stride^)? `uses` $first_use `to` $end_use
    (`recompute` $recompute^)? (`split_wgrad` $split_wgrad^)? `` custom<OptionalBody>($body) attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_MapOp : Plan_Op<"map", [HasParent<"StageOp">]> {
  let summary = "factors of one segment that are split over the devices of the stage";
  let description = [{ A segment that has no map is replicated: `plan.map "attention" [h cuts [2, 4]]`. }];
  let arguments = (ins StrAttr:$segment, Plan_AxisUseArrayAttr:$uses);
  let assemblyFormat = "$segment custom<AxisUses>($uses) attr-dict";
  let hasVerifier = 1;
}

def Plan_OverrideOp : Plan_Op<"override", [HasParent<"SolutionOp">]> {
  let summary = "one micro-batch runs one of its stages on another replica";
  let arguments = (ins U32Attr:$replica, U32Attr:$stage, U32Attr:$microbatch, U32Attr:$executor);
  let assemblyFormat = [{
    `replica` $replica `stage` $stage `microbatch` $microbatch `on` `replica` $executor attr-dict
  }];
  let hasVerifier = 1;
}

#endif
