// Enumerations of the model dialect.
#ifndef PLAIT_DIALECTS_MODEL_MODELENUMS_TD
#define PLAIT_DIALECTS_MODEL_MODELENUMS_TD

include "mlir/IR/EnumAttr.td"

// Values equal those of plait::Phase.
def Model_BlockPhase : I32EnumAttr<"BlockPhase", "phase of a block", [
    I32EnumAttrCase<"Forward", 1, "forward">, I32EnumAttrCase<"Backward", 2, "backward">,
    I32EnumAttrCase<"BackwardInput", 3, "backward_input">, I32EnumAttrCase<"BackwardWeight", 4, "backward_weight">]> {
  let cppNamespace = "::plait::model";
}

def Model_InitKind : I32EnumAttr<"InitKind", "distribution of initial values", [
    I32EnumAttrCase<"Zeros", 0, "zeros">, I32EnumAttrCase<"Ones", 1, "ones">,
    I32EnumAttrCase<"Normal", 2, "normal">]> {
  let cppNamespace = "::plait::model";
}

def Model_ActivationKind : I32EnumAttr<"ActivationKind", "elementwise non-linearity", [
    I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">, I32EnumAttrCase<"Relu", 3, "relu">,
    I32EnumAttrCase<"Relu2", 4, "relu2">]> {
  let cppNamespace = "::plait::model";
}

#endif
