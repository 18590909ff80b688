// The plan itself and what it says about the model, the job and the search.
#ifndef PLAIT_DIALECTS_EXEC_PLANOPS_TD
#define PLAIT_DIALECTS_EXEC_PLANOPS_TD

include "dialects/exec/ExecAttrs.td"
include "mlir/IR/SymbolInterfaces.td"

def Exec_PlanOp : Exec_BodyOp<"plan", [SymbolTable, HasParent<"::mlir::ModuleOp">]> {
  let summary = "an executable plan (pb.Plan)";
  let description = [{
    The body holds the parts in any order; parts of one kind are numbered as they stand. The decisions are a
    `plan.solution` in the body.
  }];
  let arguments = (ins U32Attr:$format, Exec_U32:$world_size, Exec_Strs:$required_features, Exec_Str:$digest,
                       Exec_Str:$model_ir, Exec_Str:$cluster_json);
  let assemblyFormat = [{
    `format` $format `world_size` $world_size (`required_features` $required_features^)? $body
    (`cluster_json` $cluster_json^)? (`model_ir` $model_ir^)? (`digest` $digest^)? attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}
class Exec_PartOp<string mnemonic> : Exec_Op<mnemonic, [HasParent<"PlanOp">]>;
class Exec_PartBodyOp<string mnemonic> : Exec_BodyOp<mnemonic, [HasParent<"PlanOp">]>;

def Exec_ProvenanceOp : Exec_PartOp<"provenance"> {
  let summary = "where the plan comes from (pb.Provenance)";
  let arguments = (ins Exec_Str:$tool, Exec_Strs:$input_digests, Exec_Str:$space, Exec_Str:$solver, Exec_Str:$objective);
  let assemblyFormat = [{
    (`tool` $tool^)? (`input_digests` $input_digests^)? (`space` $space^)? (`solver` $solver^)?
    (`objective` $objective^)? attr-dict
  }];
}

def Exec_JobOp : Exec_PartOp<"job"> {
  let summary = "what is trained (pb.Job)";
  let arguments = (ins Exec_Str:$model_name, Exec_I64:$seq_len, Exec_I64:$global_batch, Exec_I64:$micro_batch,
                       Exec_I64:$vocab_size, OptionalAttr<Exec_PrecisionAttr>:$precision, Exec_Str:$optimizer,
                       Exec_F64:$flops_per_token, Exec_U64:$parameters);
  let assemblyFormat = [{
    $model_name `seq_len` $seq_len `global_batch` $global_batch `micro_batch` $micro_batch `vocab_size` $vocab_size
    (`precision` $precision^)? (`optimizer` $optimizer^)? (`flops_per_token` $flops_per_token^)?
    (`parameters` $parameters^)? attr-dict
  }];
}

def Exec_TensorOp : Exec_PartOp<"tensor"> {
  let summary = "a logical tensor and its place in the checkpoint (pb.Tensor)";
  let arguments = (ins StrAttr:$name, Exec_Ints:$shape, Exec_DefaultEnum<Exec_DType>:$dtype, Exec_Str:$hf_name,
                       Exec_Ints:$hf_shape, Exec_I64:$hf_base, Exec_Ints:$hf_sizes, Exec_Ints:$hf_strides,
                       OptionalAttr<Exec_InitKind>:$init, Exec_F64:$init_std, UnitAttr:$decay);
  let assemblyFormat = [{
    $name $shape $dtype (`hf` $hf_name^)? (`shape` $hf_shape^)? (`base` $hf_base^)? (`sizes` $hf_sizes^)?
    (`strides` $hf_strides^)? (`init` $init^)? (`std` $init_std^)? (`decay` $decay^)? attr-dict
  }];
}

def Exec_EstimateOp : Exec_PartBodyOp<"estimate"> {
  let summary = "what the compiler predicted (pb.Estimate); a zero is not computed";
  let arguments = (ins Exec_F64:$bound_s, Exec_F64:$evaluate_s, Exec_F64:$simulated_s, Exec_U64:$candidates,
                       Exec_U64:$simulated);
  let assemblyFormat = [{
    (`bound_s` $bound_s^)? (`evaluate_s` $evaluate_s^)? (`simulated_s` $simulated_s^)? (`candidates` $candidates^)?
    (`simulated` $simulated^)? `` custom<OptionalBody>($body) attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Exec_PrunedOp : Exec_Op<"pruned", [HasParent<"EstimateOp">]> {
  let summary = "how many candidates a rule refused (pb.Pruned)";
  let arguments = (ins StrAttr:$rule, Exec_U64:$count);
  let assemblyFormat = "$rule $count attr-dict";
}

def Exec_RunnerUpOp : Exec_BodyOp<"runner_up", [SymbolTable, HasParent<"EstimateOp">]> {
  let summary = "a plan that came close, and why it lost (pb.RunnerUp); holds its plan.solution";
  let arguments = (ins Exec_F64:$evaluate_s, Exec_F64:$simulated_s, Exec_U64:$peak_bytes, Exec_Str:$loses);
  let assemblyFormat = [{
    (`evaluate_s` $evaluate_s^)? (`simulated_s` $simulated_s^)? (`peak_bytes` $peak_bytes^)? (`loses` $loses^)?
    `` custom<OptionalBody>($body) attr-dict
  }];
  let hasRegionVerifier = 1;
}

#endif
