// Routines, what they launch, and the programs that call them.
#ifndef PLAIT_DIALECTS_EXEC_ROUTINEOPS_TD
#define PLAIT_DIALECTS_EXEC_ROUTINEOPS_TD

include "dialects/exec/ExecAttrs.td"

def Exec_WorkOp : Exec_Op<"work", [HasParent<"PlanOp">]> {
  let summary = "an interned kernel shape: all that the cost model sees of a launch (pb.Work)";
  let arguments = (ins Exec_U32:$kernel, Exec_Ints:$dims, Exec_DefaultEnum<Exec_DType>:$dtype, Exec_F64:$flops,
                       Exec_F64:$bytes_read, Exec_F64:$bytes_written);
  let assemblyFormat = [{
    custom<Kernel>($kernel) $dims $dtype `flops` $flops `read` $bytes_read `written` $bytes_written attr-dict
  }];
}

def Exec_PointwiseOp : Exec_BodyOp<"pointwise", [HasParent<"PlanOp">]> {
  let summary = "a small SSA list over elements (pb.PointwiseProgram)";
  let description = [{
    Operand i is input i while there are inputs, else the result of instruction i - inputs. `row` inputs are vectors
    broadcast over the leading dimensions.
  }];
  let arguments = (ins StrAttr:$name, Exec_Strs:$inputs, Exec_Ints:$outputs);
  let assemblyFormat = "$name custom<Words>($inputs) `->` $outputs `` custom<OptionalBody>($body) attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Exec_ComputeOp : Exec_Op<"compute", [HasParent<"PointwiseOp">]> {
  let summary = "one instruction of a pointwise program (pb.PointwiseInstr)";
  let arguments = (ins Exec_U32:$op, Exec_Ints:$args, Exec_Doubles:$immediates);
  let assemblyFormat = "custom<PointwiseName>($op) $args (`immediates` $immediates^)? attr-dict";
}

def Exec_RoutineOp : Exec_BodyOp<"routine", [HasParent<"PlanOp">]> {
  let summary = "one block kind in one phase and layout, position independent (pb.Routine): slots, then instructions";
  let arguments = (ins StrAttr:$name, Exec_Str:$block, Exec_DefaultEnum<Exec_Phase>:$phase, Exec_Str:$variant);
  let assemblyFormat = [{
    $name (`block` $block^)? (`phase` $phase^)? (`variant` $variant^)? `` custom<OptionalBody>($body) attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Exec_SlotOp : Exec_Op<"slot", [HasParent<"RoutineOp">]> {
  let summary = "a piece of memory that a call binds (pb.Slot)";
  let arguments = (ins StrAttr:$name, Exec_DefaultEnum<Exec_Space>:$space, Exec_U64:$bytes);
  let assemblyFormat = "$name $space $bytes attr-dict";
}

class Exec_InstrOp<string mnemonic, list<Trait> traits = []> : Exec_Op<mnemonic, [HasParent<"RoutineOp">] # traits>;

def Exec_LaunchOp : Exec_InstrOp<"launch"> {
  let summary = "runs a kernel of the catalogue (pb.Launch)";
  let description = [{ `exec.launch "gemm" work 3 [<0 [4, 8] f32>, <1 [8, 2] f32>, <2 [4, 2] f32>] ints [0, 0, 0]` }];
  let arguments = (ins Exec_U32:$kernel, Exec_U32:$work, Exec_Refs:$refs, Exec_Ints:$ints, Exec_Doubles:$doubles,
                       Exec_Offsets:$offsets, Exec_U32:$pointwise, Exec_Str:$origin);
  let assemblyFormat = [{
    custom<Kernel>($kernel) `work` $work custom<Refs>($refs) (`ints` $ints^)? (`doubles` $doubles^)?
    (`offsets` custom<Offsets>($offsets)^)? (`pointwise` $pointwise^)? (`origin` $origin^)? attr-dict
  }];
}

def Exec_BatchOp : Exec_InstrOp<"batch", [SingleBlock, NoTerminator]> {
  let summary = "collectives issued as one group call (pb.Batch)";
  let arguments = (ins Exec_Str:$origin);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`origin` $origin^)? `` custom<OptionalBody>($body) attr-dict";
  let hasRegionVerifier = 1;
}

def Exec_CollectiveOp : Exec_Op<"collective", [HasParent<"BatchOp">]> {
  let summary = "one collective over the family that the role binds to `axis` (pb.Collective)";
  let arguments = (ins Exec_DefaultEnum<Exec_CollectiveKind>:$kind, Exec_U32:$axis, OptionalAttr<Exec_RefAttr>:$in,
                       OptionalAttr<Exec_RefAttr>:$out, Exec_DefaultEnum<Exec_ReduceKind>:$reduce, Exec_Ints:$counts,
                       Exec_U32:$root);
  let assemblyFormat = [{
    $kind `axis` $axis (`in` $in^)? (`out` $out^)? (`reduce` $reduce^)? (`counts` $counts^)? (`root` $root^)? attr-dict
  }];
}

def Exec_ZeroOp : Exec_InstrOp<"zero"> {
  let summary = "clears memory";
  let arguments = (ins Exec_RefAttr:$ref, Exec_Str:$origin);
  let assemblyFormat = "$ref (`origin` $origin^)? attr-dict";
}

def Exec_CopyOp : Exec_InstrOp<"copy"> {
  let summary = "copies elements (pb.Copy)";
  let arguments = (ins OptionalAttr<Exec_RefAttr>:$from, OptionalAttr<Exec_RefAttr>:$to, Exec_Str:$origin);
  let assemblyFormat = "(`from` $from^)? (`to` $to^)? (`origin` $origin^)? attr-dict";
}

def Exec_ProgramOp : Exec_BodyOp<"program", [HasParent<"PlanOp">]> {
  let summary = "a list of routine calls: one stage in one phase (pb.Program)";
  let arguments = (ins StrAttr:$name, Exec_DefaultEnum<Exec_Phase>:$phase, Exec_U32:$frame_class);
  let assemblyFormat = [{
    $name (`phase` $phase^)? (`frame_class` $frame_class^)? `` custom<OptionalBody>($body) attr-dict
  }];
  let hasRegionVerifier = 1;
}

def Exec_CallOp : Exec_Op<"call", [HasParent<"ProgramOp">]> {
  let summary = "a routine on one layer; `bind` gives each slot's byte offset in its space (pb.Call)";
  let arguments = (ins Exec_U32:$routine, Exec_Ints:$bind, DefaultValuedAttr<SI32Attr, "0">:$layer);
  let assemblyFormat = "$routine `layer` $layer `bind` $bind attr-dict";
}

#endif
