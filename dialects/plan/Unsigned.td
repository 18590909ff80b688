// Unsigned integer attributes, shared by the plan and exec dialects: a minus sign is refused when they are parsed.
#ifndef PLAIT_DIALECTS_PLAN_UNSIGNED_TD
#define PLAIT_DIALECTS_PLAN_UNSIGNED_TD

include "mlir/IR/OpBase.td"

class UnsignedAttr<int width, string type>
    : TypedUnsignedIntegerAttrBase<UI<width>, type, width # "-bit unsigned integer"> {
  let valueType = UI<width>;
  let constBuilderCall =
      "$_builder.getIntegerAttr($_builder.getIntegerType(" # width # ", /*isSigned=*/false), $0)";
}
def U32Attr : UnsignedAttr<32, "uint32_t">;
def U64Attr : UnsignedAttr<64, "uint64_t">;

#endif
