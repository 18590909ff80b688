// The model dialect: definition, attribute and type constraints shared by its op files.
#ifndef PLAIT_DIALECTS_MODEL_MODELBASE_TD
#define PLAIT_DIALECTS_MODEL_MODELBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Model_Dialect : Dialect {
  let name = "model";
  let cppNamespace = "::plait::model";
  let summary = "What is computed, on whole tensors";
  let description = [{
    A module holds parameters (`model.param`), one definition per kind of block (`model.block_def`) and the chain of
    its uses (`model.use`) in the order of the network. Layers are never unrolled. Tensors are whole: how they are
    split is decided elsewhere, from the sharding rule that every computing op states.

    Activations are sequence-major, `tensor<sequence x batch x width>`, with dynamic sequence and batch; weights of
    linear ops are `[out, in]`. All floating-point tensors are `f32` here: the precision of a job is no part of the
    model. The module carries `model.name`, `model.family` (strings) and `model.vocab_size` (integer).
  }];
}

class Model_Op<string mnemonic, list<Trait> traits = []> : Op<Model_Dialect, mnemonic, traits>;

def Model_Float : RankedTensorOf<[F32]>;
def Model_Index : RankedTensorOf<[I32]>;

def Model_I64 : TypedSignlessIntegerAttrBase<I64, "int64_t", "64-bit integer">;
def Model_Positive : ConfinedAttr<Model_I64, [IntPositive]>;
def Model_F64 : Attr<CPred<"::llvm::isa<::mlir::FloatAttr>($_self) && "
                           "::llvm::cast<::mlir::FloatAttr>($_self).getType().isF64()">, "64-bit float"> {
  let storageType = "::mlir::FloatAttr";
  let returnType = "double";
  let valueType = F64;
  let convertFromStorage = "$_self.getValueAsDouble()";
  let constBuilderCall = "$_builder.getF64FloatAttr($0)";
}

#endif
