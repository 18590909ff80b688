// What one phase of a block leaves must be what the next one takes.
#include "passes/differentiate/Passes.h"
#include "dialects/model/Model.h"
#include <map>

using namespace mlir;
using namespace plait::model;

namespace plait {

namespace {

/// The four phases of one variant.
struct Phases {
  BlockDefOp forward, backward, input, weight;
};

class Checker {
public:
  explicit Checker(ModuleOp module) {
    for (BlockDefOp def : module.getOps<BlockDefOp>())
      if (!def.isSource())
        made[{def.getOf()->str(), def.getVariant()->str(), def.getPhase()}].push_back(def);
  }

  LogicalResult check(BlockDefOp source) {
    for (StringRef variant : {"none", "selective", "full"}) {
      Phases phases;
      for (auto [phase, slot] : {std::pair{BlockPhase::Forward, &phases.forward}, {BlockPhase::Backward, &phases.backward},
                                 {BlockPhase::BackwardInput, &phases.input}, {BlockPhase::BackwardWeight, &phases.weight}})
        if (failed(find(source, variant, phase, *slot)))
          return failure();
      if (failed(check(source, phases)))
        return failure();
    }
    return success();
  }

private:
  LogicalResult find(BlockDefOp source, StringRef variant, BlockPhase phase, BlockDefOp &slot) {
    const auto &found = made[{source.getSymName().str(), variant.str(), phase}];
    if (found.size() != 1)
      return source.emitOpError("must have one definition of phase ")
             << stringifyBlockPhase(phase) << ", variant " << variant << ", found " << found.size();
    slot = found.front();
    return success();
  }

  static LogicalResult sameTypes(BlockDefOp taker, StringRef what, TypeRange left, TypeRange taken) {
    if (llvm::equal(left, taken))
      return success();
    return taker.emitOpError("takes other ") << what << " values than the phase before it leaves";
  }

  static LogicalResult check(BlockDefOp source, Phases &phases) {
    TypeRange saved = phases.forward.yield().getSaved().getTypes();
    SmallVector<Type> params, dx;
    for (BlockArgument param : source.group(BlockDefOp::Params))
      params.push_back(param.getType());
    if (mlir::Value x = source.input("x"))
      dx.push_back(x.getType());
    for (BlockDefOp def : {phases.backward, phases.input, phases.weight}) {
      SmallVector<Type> taken, own;
      for (BlockArgument argument : def.group(BlockDefOp::Saved))
        taken.push_back(argument.getType());
      for (BlockArgument argument : def.group(BlockDefOp::Params))
        own.push_back(argument.getType());
      if (failed(sameTypes(def, "saved", saved, taken)))
        return failure();
      if (own != params)
        return def.emitOpError("must have the parameters of @") << source.getSymName();
      bool yieldsInput = def != phases.weight, yieldsGrads = def != phases.input;
      if (TypeRange(def.yield().getOutputs()) != (yieldsInput ? TypeRange(dx) : TypeRange()))
        return def.yield().emitOpError(yieldsInput ? "must yield the gradient of x, if there is one" : "must yield no output");
      if (TypeRange(def.yield().getGrads()) != (yieldsGrads ? TypeRange(params) : TypeRange()))
        return def.yield().emitOpError(yieldsGrads ? "must yield one gradient per parameter" : "must yield no parameter gradients");
    }
    SmallVector<Type> carried;
    for (BlockArgument argument : phases.weight.group(BlockDefOp::Carried))
      carried.push_back(argument.getType());
    return sameTypes(phases.weight, "carried", phases.input.yield().getCarried().getTypes(), carried);
  }

  std::map<std::tuple<std::string, std::string, BlockPhase>, SmallVector<BlockDefOp>> made;
};

} // namespace

LogicalResult verifyDifferentiated(ModuleOp module) {
  Checker checker(module);
  for (BlockDefOp def : module.getOps<BlockDefOp>())
    if (def.isSource() && failed(checker.check(def)))
      return failure();
  return success();
}

} // namespace plait
