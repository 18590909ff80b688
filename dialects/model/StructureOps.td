// Structure of a model: parameters, block definitions and the chain of their uses.
include "dialects/model/ModelBase.td"
include "dialects/model/ModelEnums.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Model_ParamOp : Model_Op<"param", [Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "A trained tensor";
  let description = [{
    A logical tensor and its place in a checkpoint: element (i0, i1, ...) over `hf_sizes` lies at
    `hf_base + sum(ik * hf_strides[k])` of checkpoint tensor `hf_name` with shape `hf_shape`. `hf_sizes` is a factoring
    of the logical shape in the same row-major order. Without these attributes the tensor is stored as it is.

    ```mlir
    model.param @wq : tensor<96x96xf32> init normal
    model.param @"c_attn.weight#q" : tensor<64x64xf32> init normal {hf_name = "c_attn.weight",
        hf_shape = array<i64: 64, 192>, hf_sizes = array<i64: 64, 64>, hf_strides = array<i64: 1, 192>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Model_Float>:$type, Model_InitKind:$init,
      DefaultValuedAttr<Model_F64, "0.02">:$init_std, DefaultValuedAttr<BoolAttr, "true">:$decay,
      OptionalAttr<StrAttr>:$hf_name, OptionalAttr<DenseI64ArrayAttr>:$hf_shape,
      DefaultValuedAttr<Model_I64, "0">:$hf_base, OptionalAttr<DenseI64ArrayAttr>:$hf_sizes,
      OptionalAttr<DenseI64ArrayAttr>:$hf_strides);
  let assemblyFormat = "$sym_name `:` $type `init` $init attr-dict";
  let hasVerifier = 1;
}

def Model_BlockDefOp : Model_Op<"block_def", [Symbol, IsolatedFromAbove, SingleBlock, HasParent<"::mlir::ModuleOp">,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "One phase of one kind of block";
  let description = [{
    Arguments come in four groups. Inputs are known by name: `x` (activation), `tokens` and `labels` (ids), `loss_scale`
    (one number, the gradient of the loss) and, in backward phases, `dy`. Then follow the parameters, the values that
    the forward phase saved, and those that backward_input carried to backward_weight.

    A definition without `of` is written by an importer and is a forward phase; uses refer to it. The others are made
    from it by `--model-differentiate`, one for each phase and recompute variant.

    ```mlir
    model.block_def @mlp forward (%x: tensor<?x?x8xf32>) params(%up: tensor<32x8xf32>, %down: tensor<8x32xf32>) {
      %0 = model.linear %x, %up {segment = "mlp"} : (tensor<?x?x8xf32>, tensor<32x8xf32>) -> tensor<?x?x32xf32>
      %1 = model.activation gelu %0 {segment = "mlp"} : (tensor<?x?x32xf32>) -> tensor<?x?x32xf32>
      %2 = model.linear %1, %down {segment = "mlp"} : (tensor<?x?x32xf32>, tensor<8x32xf32>) -> tensor<?x?x8xf32>
      model.yield %2 : tensor<?x?x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Model_BlockPhase:$phase, OptionalAttr<StrAttr>:$variant,
      OptionalAttr<FlatSymbolRefAttr>:$of, DenseI32ArrayAttr:$group_sizes, StrArrayAttr:$argument_names);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $phase (`variant` $variant^)? (`of` $of^)?
    custom<BlockSignature>($body, $group_sizes, $argument_names) attr-dict-with-keyword
  }];
  let builders = [
    // An empty block with the given arguments; group sizes as {inputs, parameters, saved, carried}.
    OpBuilder<(ins "::llvm::StringRef":$name, "BlockPhase":$phase, "::llvm::ArrayRef<int32_t>":$groupSizes,
                   "::llvm::ArrayRef<::llvm::StringRef>":$argumentNames, "::mlir::TypeRange":$argumentTypes,
                   CArg<"::llvm::StringRef", "{}">:$variant, CArg<"::llvm::StringRef", "{}">:$of)>];
  let extraClassDeclaration = [{
    enum Group { Inputs = 0, Params = 1, Saved = 2, Carried = 3 };
    /// Arguments of one group, in order.
    ::mlir::Block::BlockArgListType group(Group which);
    /// The input called `name`, or null.
    ::mlir::Value input(::llvm::StringRef name);
    ::llvm::StringRef argumentName(unsigned index);
    YieldOp yield();
    /// Written by an importer, not made from another definition.
    bool isSource() { return !getOf(); }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Model_YieldOp : Model_Op<"yield", [Terminator, Pure, AttrSizedOperandSegments, HasParent<"BlockDefOp">]> {
  let summary = "What a block gives back";
  let description = [{
    A forward phase yields `y` or, in the last block, the loss (`tensor<1xf32>`), and what it saves. Backward phases
    yield `dx` unless the block has no `x`; backward_input also yields what it carries to backward_weight; backward and
    backward_weight yield one gradient per parameter, which the runtime adds to the gradients so far.

    ```mlir
    model.yield %y : tensor<?x?x8xf32> saved(%x, %u : tensor<?x?x8xf32>, tensor<?x?x32xf32>)
    model.yield %dx : tensor<?x?x8xf32> grads(%dup, %ddown : tensor<32x8xf32>, tensor<8x32xf32>)
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$outputs, Variadic<AnyRankedTensor>:$saved,
      Variadic<AnyRankedTensor>:$carried, Variadic<Model_Float>:$grads);
  let assemblyFormat = [{
    ($outputs^ `:` type($outputs))? (`saved` `(` $saved^ `:` type($saved) `)`)?
    (`carried` `(` $carried^ `:` type($carried) `)`)? (`grads` `(` $grads^ `:` type($grads) `)`)? attr-dict
  }];
}

def Model_UseOp : Model_Op<"use", [HasParent<"::mlir::ModuleOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One block of the network";
  let description = [{
    Uses stand in the order of the network. `layer` is the number of the decoder layer; blocks outside the layers
    (embedding, head) have none. A parameter in two uses is tied.

    ```mlir
    model.use @decoder layer 3 params [@layers.3.wq, @layers.3.wo]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$block, OptionalAttr<Model_I64>:$layer,
      TypedArrayAttrBase<FlatSymbolRefAttr, "parameter names">:$params);
  let assemblyFormat = "$block (`layer` $layer^)? `params` $params attr-dict";
}
