// Ops that mirror cost_model/problem/Problem.h; the model itself is the business of the model dialect.
#ifndef PLAIT_DIALECTS_PLAN_PROBLEMOPS_TD
#define PLAIT_DIALECTS_PLAN_PROBLEMOPS_TD

include "dialects/plan/PlanBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Plan_ProblemOp : Plan_Op<"problem", [Symbol, SingleBlock, NoTerminator, HasParent<"::mlir::ModuleOp">]> {
  let summary = "what may be chosen: a cluster, a job, a space, and optionally costs and expectations for tests";
  let description = [{
    ```mlir
    plan.problem @two target "plait" {
      plan.cluster "pair" {
        plan.class "gpu" facts "h100-sxm" memory 80 GiB reserved 2 GiB
        plan.domain "node" class "gpu" devices 2 link "nvlink4"
      }
      plan.job global_batch 8 seq_len 128 precision "bf16" optimizer "adamw"
      plan.space tp [1, 2] schedules ["1f1b"]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DefaultValuedAttr<StrAttr, "\"plait\"">:$target);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`target` $target^)? $body attr-dict";
  let hasRegionVerifier = 1;
}

def Plan_ClusterOp : Plan_Op<"cluster", [SingleBlock, NoTerminator, HasParent<"ProblemOp">]> {
  let summary = "device classes and the tree of domains that holds the devices";
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $body attr-dict";
  let hasRegionVerifier = 1;
}

def Plan_ClassOp : Plan_Op<"class", [HasParent<"ClusterOp">]> {
  let summary = "devices of one kind; `facts` names their entry of the facts data";
  let arguments = (ins StrAttr:$name, StrAttr:$facts, U64Attr:$memory_bytes,
                       DefaultValuedAttr<U64Attr, "0">:$reserved_bytes);
  let assemblyFormat = [{
    $name `facts` $facts `memory` custom<Bytes>($memory_bytes)
    (`reserved` custom<Bytes>($reserved_bytes)^)? attr-dict
  }];
}

def Plan_DomainOp : Plan_Op<"domain", [HasParent<"ClusterOp">]> {
  let summary = "a node of the domain tree, parents first; leaves hold devices, numbered in leaf order";
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$parent, OptionalAttr<StrAttr>:$device_class,
                       DefaultValuedAttr<U32Attr, "0">:$devices, DefaultValuedAttr<StrAttr, "\"\"">:$link,
                       UnitAttr:$fails_together);
  let assemblyFormat = [{
    $name (`in` $parent^)? (`class` $device_class^)? (`devices` $devices^)? (`link` $link^)?
    (`fails_together` $fails_together^)? attr-dict
  }];
}

def Plan_JobOp : Plan_Op<"job", [HasParent<"ProblemOp">]> {
  let summary = "what is trained: sequences per step, tokens per sequence, element types, optimizer";
  let description = [{
    `precision` is a name ("fp32", "bf16"), or the seven types param, compute, saved, grad, reduce, master and moments
    in this order, separated by commas.
  }];
  let arguments = (ins SI64Attr:$global_batch, SI64Attr:$seq_len, StrAttr:$precision, StrAttr:$optimizer);
  let assemblyFormat = [{
    `global_batch` $global_batch `seq_len` $seq_len `precision` $precision `optimizer` $optimizer attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_SpaceOp : Plan_Op<"space", [HasParent<"ProblemOp">]> {
  let summary = "what the proof ranges over; a list that is left out allows every legal value";
  let arguments = (ins OptionalAttr<DenseI64ArrayAttr>:$tp, OptionalAttr<DenseI64ArrayAttr>:$pp,
                       OptionalAttr<DenseI64ArrayAttr>:$dp, OptionalAttr<DenseI64ArrayAttr>:$micro_batch,
                       OptionalAttr<StrArrayAttr>:$schedules, OptionalAttr<StrArrayAttr>:$recompute,
                       OptionalAttr<StrArrayAttr>:$sharding, OptionalAttr<DenseBoolArrayAttr>:$sequence_parallel,
                       OptionalAttr<DenseBoolArrayAttr>:$split_wgrad, UnitAttr:$even_layers, UnitAttr:$idle_devices);
  let assemblyFormat = [{
    (`tp` $tp^)? (`pp` $pp^)? (`dp` $dp^)? (`micro_batch` $micro_batch^)? (`schedules` $schedules^)?
    (`recompute` $recompute^)? (`sharding` $sharding^)? (`sequence_parallel` $sequence_parallel^)?
    (`split_wgrad` $split_wgrad^)? (`even_layers` $even_layers^)? (`idle_devices` $idle_devices^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_CostsOp : Plan_Op<"costs", [SingleBlock, NoTerminator, HasParent<"ProblemOp">]> {
  let summary = "a table of costs, for tests of solvers and checkers (TableCosts)";
  let description = [{
    `boundary` is seconds per sequence and `latency` seconds per transfer between stages, `tail` seconds after the last
    backward, `slowdown` a factor per device class.
  }];
  let arguments = (ins DefaultValuedAttr<F64Attr, "0.0">:$boundary, DefaultValuedAttr<F64Attr, "0.0">:$latency,
                       DefaultValuedAttr<F64Attr, "0.0">:$tail, OptionalAttr<F64ArrayAttr>:$slowdown);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`boundary` $boundary^)? (`latency` $latency^)? (`tail` $tail^)? (`slowdown` $slowdown^)? $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_CostOp : Plan_Op<"cost", [HasParent<"CostsOp">]> {
  let summary = "seconds per sequence of the phases of a block kind at a tensor-parallel degree, and its bytes (TableRow)";
  let description = [{
    `plan.cost "decoder" tp 2 forward 0.25 backward_input 0.25 backward_weight 0.25 static 1 MiB saved 4 KiB`: `static`
    is per block, `saved` per block and sequence in flight.
  }];
  let arguments = (ins StrAttr:$kind, U32Attr:$tp, DefaultValuedAttr<StrAttr, "\"none\"">:$recompute, F64Attr:$forward,
                       F64Attr:$backward_input, F64Attr:$backward_weight,
                       DefaultValuedAttr<U64Attr, "0">:$static_bytes, DefaultValuedAttr<U64Attr, "0">:$saved_bytes);
  let assemblyFormat = [{
    $kind `tp` $tp (`recompute` $recompute^)? `forward` $forward `backward_input` $backward_input
    `backward_weight` $backward_weight (`static` custom<Bytes>($static_bytes)^)? (`saved` custom<Bytes>($saved_bytes)^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_ExpectOp : Plan_Op<"expect", [HasParent<"ProblemOp">]> {
  let summary = "what a test expects of a solution of this problem; checked by --plan-check";
  let description = [{ `plan.expect @name seconds 1.5 peak_bytes [..]`: one number for each stage, replica by replica. }];
  let arguments = (ins FlatSymbolRefAttr:$solution, OptionalAttr<F64Attr>:$seconds,
                       OptionalAttr<DenseI64ArrayAttr>:$peak_bytes);
  let assemblyFormat = "$solution (`seconds` $seconds^)? (`peak_bytes` $peak_bytes^)? attr-dict";
  let hasVerifier = 1;
}

#endif
