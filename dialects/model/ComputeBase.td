// Base class of computing ops.
#ifndef PLAIT_DIALECTS_MODEL_COMPUTEBASE_TD
#define PLAIT_DIALECTS_MODEL_COMPUTEBASE_TD

include "dialects/model/ModelBase.td"
include "dialects/model/ModelEnums.td"
include "dialects/model/ModelInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// `kernelCase` is a case of plait::Kernel, `rule` the text that cost_model/workload/Rule.h parses (at compile time),
// `keepCase` a case of plait::model::Keep, `methods` the interface methods with a default that the op overrides.
// Sub-classes set `inputs` (operands and attributes; the segment is appended), `results`, `summary` and `detail`.
class Model_ComputeOp<string mnemonic, string kernelCase, string rule, string keepCase, list<string> methods>
    : Model_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ComputeOpInterface, methods>]> {
  dag inputs = (ins);
  string detail = "";
  let arguments = !con(inputs, (ins DefaultValuedStrAttr<StrAttr, "stream">:$segment));
  let description = !strconcat(detail, "\n\nRule: `", rule, "`. Kernel: `", kernelCase, "`.\n");
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = !strconcat([{
    static const ::plait::Rule &classRule();
    static constexpr ::plait::Kernel kKernel = ::plait::Kernel::}], kernelCase, [{;
    static constexpr ::plait::model::Keep kKeep = ::plait::model::Keep::}], keepCase, ";\n");
  let extraClassDefinition = !strconcat("const ::plait::Rule &$cppClass::classRule() { return ::plait::ruleOf<\"",
                                        rule, "\">; }\n");
}

// An elementwise op: one pointwise program.
class Model_PointwiseOp<string mnemonic, string rule, list<string> methods = [], string keepCase = "Cheap">
    : Model_ComputeOp<mnemonic, "Pointwise", rule, keepCase, !listconcat(["launchAttributes"], methods)>;

#endif
