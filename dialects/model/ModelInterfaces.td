// The one interface of computing ops: sharding rule, kernel, gradient. Everything that the rest of the compiler knows
// about an op it learns here.
#ifndef PLAIT_DIALECTS_MODEL_MODELINTERFACES_TD
#define PLAIT_DIALECTS_MODEL_MODELINTERFACES_TD

include "mlir/IR/OpBase.td"

def ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::plait::model";
  let description = [{
    Implemented by every op that computes tensors. `Model_ComputeOp` supplies rule text and kernel; an op overrides
    the methods whose default does not fit. The verifier checks operands and results against the rule.
  }];
  let methods = [
    InterfaceMethod<"Sharding rule of this op; it may depend on operand shapes, hence not static.",
                    "const ::plait::Rule &", "rule", (ins), "", [{ return ConcreteOp::classRule(); }]>,
    InterfaceMethod<"Size of a rule factor that an attribute fixes; 0 if operands and results tell it.",
                    "int64_t", "factorSize", (ins "::llvm::StringRef":$factor), "", [{ return 0; }]>,
    InterfaceMethod<"The kernel that executes this op.",
                    "::plait::Kernel", "kernel", (ins), "", [{ return ConcreteOp::kKernel; }]>,
    InterfaceMethod<"Integers, doubles, offsets and program of the launch, as the kernel catalogue orders them.",
                    "::plait::model::LaunchAttributes", "launchAttributes", (ins), "", [{ return {}; }]>,
    InterfaceMethod<"Whether partial operands give a partial result, so that no reduction is needed before.",
                    "bool", "additive", (ins), "", [{ return false; }]>,
    InterfaceMethod<"Which recompute variants keep the results of this op.",
                    "::plait::model::Keep", "keep", (ins), "", [{ return ConcreteOp::kKeep; }]>,
    InterfaceMethod<"The segment whose axis map splits this op.",
                    "::llvm::StringRef", "segmentName", (ins), "", [{ return $_op.getSegment(); }]>,
    InterfaceMethod<"Checks attributes that the rule does not see; runs before the check against the rule.",
                    "::llvm::LogicalResult", "checkAttributes", (ins), "", [{ return ::mlir::success(); }]>,
    InterfaceMethod<"Adds the gradients of the operands to `sink`; fails if the op has none.",
                    "::llvm::LogicalResult", "differentiate", (ins "::plait::model::GradientSink &":$sink), "",
                    [{ return $_op.emitOpError("has no gradient"); }]>,
  ];
  let verify = [{ return ::plait::model::verifyAgainstRule($_op); }];
}

#endif
