// Attributes of the plan dialect.
#ifndef PLAIT_DIALECTS_PLAN_PLANATTRS_TD
#define PLAIT_DIALECTS_PLAN_PLANATTRS_TD

include "dialects/plan/PlanBase.td"
include "mlir/IR/AttrTypeBase.td"

def Plan_AxisUseAttr : AttrDef<Plan_Dialect, "AxisUse"> {
  let mnemonic = "use";
  let summary = "a factor split over the tensor axis of a stage";
  let description = [{
    `h` splits the factor evenly, the first shards one unit larger where it does not divide; `h cuts [2, 4]` gives the
    interior boundaries in units of the factor.
  }];
  let parameters = (ins StringRefParameter<"factor">:$factor, OptionalArrayRefParameter<"int64_t">:$cuts);
  let hasCustomAssemblyFormat = 1;
}
def Plan_AxisUseArrayAttr : TypedArrayAttrBase<Plan_AxisUseAttr, "factors split over the tensor axis">;

#endif
