// The exec dialect: what a rank does. It is plan.proto as text, one op per repeated message and one attribute per field,
// with the names of the proto; passes/translate translates both ways and loses nothing.
#ifndef PLAIT_DIALECTS_EXEC_EXECBASE_TD
#define PLAIT_DIALECTS_EXEC_EXECBASE_TD

include "dialects/plan/Unsigned.td"
include "mlir/IR/EnumAttr.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::plait::exec";
  let summary = "The executable plan as text";
  let description = [{
    An index is the position among the ops of its kind: `exec.call 2` calls the third `exec.routine` of the plan.
    Attributes that are zero or empty are left out, as the proto leaves them out.
  }];
  let dependentDialects = ["::plait::plan::PlanDialect"];
  let useDefaultAttributePrinterParser = 1;
}

class Exec_Op<string mnemonic, list<Trait> traits = []> : Op<Exec_Dialect, mnemonic, traits>;
class Exec_BodyOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, [SingleBlock, NoTerminator] # traits> {
  let regions = (region SizedRegion<1>:$body);
}

// ---- Enumerations: words and numbers of the proto ----

class Exec_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::plait::exec";
}
def Exec_DType : Exec_Enum<"DType", "element type", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"F32", 1, "f32">, I32EnumAttrCase<"BF16", 2, "bf16">,
  I32EnumAttrCase<"I32", 3, "i32">, I32EnumAttrCase<"F64", 4, "f64">, I32EnumAttrCase<"F16", 5, "f16">]>;
def Exec_Space : Exec_Enum<"Space", "memory arena", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Param", 1, "param">, I32EnumAttrCase<"Grad", 2, "grad">,
  I32EnumAttrCase<"Optimizer", 3, "optimizer">, I32EnumAttrCase<"Frame", 4, "frame">,
  I32EnumAttrCase<"Scratch", 5, "scratch">, I32EnumAttrCase<"Comm", 6, "comm">,
  I32EnumAttrCase<"Control", 7, "control">]>;
def Exec_Phase : Exec_Enum<"Phase", "phase of a block", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Forward", 1, "forward">,
  I32EnumAttrCase<"Backward", 2, "backward">, I32EnumAttrCase<"BackwardInput", 3, "backward_input">,
  I32EnumAttrCase<"BackwardWeight", 4, "backward_weight">]>;
def Exec_ReduceKind : Exec_Enum<"ReduceKind", "reduction", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Max", 2, "max">]>;
def Exec_CollectiveKind : Exec_Enum<"CollectiveKind", "collective", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"AllReduce", 1, "all_reduce">,
  I32EnumAttrCase<"AllGather", 2, "all_gather">, I32EnumAttrCase<"ReduceScatter", 3, "reduce_scatter">,
  I32EnumAttrCase<"Broadcast", 4, "broadcast">]>;
def Exec_TaskKind : Exec_Enum<"TaskKind", "task", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Zero", 1, "zero">, I32EnumAttrCase<"Load", 2, "load">,
  I32EnumAttrCase<"Run", 3, "run">, I32EnumAttrCase<"Transfer", 4, "transfer">,
  I32EnumAttrCase<"GradSync", 5, "grad_sync">, I32EnumAttrCase<"Vote", 6, "vote">,
  I32EnumAttrCase<"Apply", 7, "apply">, I32EnumAttrCase<"ParamGather", 8, "param_gather">,
  I32EnumAttrCase<"Commit", 9, "commit">]>;
def Exec_InitKind : Exec_Enum<"InitKind", "initial value", [
  I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">, I32EnumAttrCase<"Normal", 2, "normal">]>;

class Exec_DefaultEnum<Exec_Enum attr> : DefaultValuedAttr<attr, "static_cast<" # attr.cppNamespace # "::" # attr.className # ">(0)">;
def Exec_U32 : DefaultValuedAttr<U32Attr, "0">;
def Exec_U64 : DefaultValuedAttr<U64Attr, "0">;
def Exec_I64 : DefaultValuedAttr<SI64Attr, "0">;
def Exec_F64 : DefaultValuedAttr<F64Attr, "0.0">;
def Exec_Str : DefaultValuedAttr<StrAttr, "\"\"">;
def Exec_Ints : DefaultValuedAttr<DenseI64ArrayAttr, "{}">;
// Not a dense array: MLIR prints and reads those with the precision of a float.
def Exec_Doubles : DefaultValuedAttr<F64ArrayAttr, "{}">;
def Exec_Strs : DefaultValuedAttr<StrArrayAttr, "{}">;

#endif
