// Attributes of the exec dialect: the messages that are values.
#ifndef PLAIT_DIALECTS_EXEC_EXECATTRS_TD
#define PLAIT_DIALECTS_EXEC_EXECATTRS_TD

include "dialects/exec/ExecBase.td"
include "mlir/IR/AttrTypeBase.td"

class Exec_Attr<string name, string word> : AttrDef<Exec_Dialect, name> { let mnemonic = word; }

def Exec_RefAttr : Exec_Attr<"Ref", "ref"> {
  let summary = "a tensor operand: slot, byte offset from the slot's binding, shape, strides, element type";
  let description = [{ `<2 + 128 [4, 8] bf16>`, with `strides [16, 1]` before the type where it is not dense. }];
  let parameters = (ins "uint32_t":$slot, "uint64_t":$offset, ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"int64_t">:$stride, EnumParameter<Exec_DType>:$dtype);
  let hasCustomAssemblyFormat = 1;
}

def Exec_OffsetAttr : Exec_Attr<"Offset", "offset"> {
  let summary = "constant + per_coord * (coordinate of the rank along an axis): `<64 + 32 * axis 0>`";
  let parameters = (ins "int64_t":$constant, "int64_t":$per_coord, "uint32_t":$axis);
  let hasCustomAssemblyFormat = 1;
}

def Exec_RankSetAttr : Exec_Attr<"RankSet", "rank_set"> {
  let summary = "base + sum(index_k * stride_k), first extent outermost; or the ranks listed";
  let parameters = (ins "uint32_t":$base, OptionalArrayRefParameter<"int64_t">:$counts,
                        OptionalArrayRefParameter<"int64_t">:$strides, OptionalArrayRefParameter<"int64_t">:$listed);
  let assemblyFormat = [{
    `<` $base (`counts` ` ` `[` $counts^ `]` `strides` ` ` `[` $strides `]`)? (`listed` ` ` `[` $listed^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
}

def Exec_PrecisionAttr : Exec_Attr<"Precision", "precision"> {
  let summary = "element types of a job";
  let parameters = (ins EnumParameter<Exec_DType>:$param, EnumParameter<Exec_DType>:$compute,
                        EnumParameter<Exec_DType>:$saved, EnumParameter<Exec_DType>:$grad,
                        EnumParameter<Exec_DType>:$reduce, EnumParameter<Exec_DType>:$master,
                        EnumParameter<Exec_DType>:$moments);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_P2pAttr : Exec_Attr<"P2p", "p2p"> {
  let summary = "one send or receive: `<send channel 1 port 0>`, `<recv channel 2 port 1 offset 64 bytes 32>`";
  let parameters = (ins "bool":$send, "uint32_t":$channel, "uint32_t":$port, "uint64_t":$offset, "uint64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
}

def Exec_PieceAttr : Exec_Attr<"Piece", "piece"> {
  let summary = "rows x elements of the parameter arena: `<1024 rows 4 of 8 stride 16 decay>`";
  let parameters = (ins "uint64_t":$offset, "uint64_t":$rows, "uint64_t":$row_elements, "uint64_t":$row_stride,
                        "bool":$decay);
  let hasCustomAssemblyFormat = 1;
}

class Exec_List<Attr attr, string summary> : DefaultValuedAttr<TypedArrayAttrBase<attr, summary>, "{}">;
def Exec_Refs : Exec_List<Exec_RefAttr, "tensor operands">;
def Exec_Offsets : Exec_List<Exec_OffsetAttr, "offsets">;
def Exec_P2ps : Exec_List<Exec_P2pAttr, "sends and receives">;
def Exec_Pieces : Exec_List<Exec_PieceAttr, "pieces of a parameter arena">;

#endif
