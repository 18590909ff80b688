// Phases of a block as slices of its joint graph.
//
// A recompute variant is a set of forward values that are kept. The backward phase is the slice from all gradients that
// stops at kept values; forward ops inside it are the recomputation. backward_input is the slice from dx;
// backward_weight the slice from the parameter gradients that also stops at everything backward_input computed, which
// it therefore carries over. Token ids, labels and the loss scale are inputs of every phase and never saved.
#include "passes/differentiate/JointGraph.h"
#include "passes/differentiate/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace plait::model;

namespace plait {

namespace {

/// Makes the definitions of one variant.
class VariantBuilder {
public:
  VariantBuilder(BlockDefOp source, const JointGraph &graph, StringRef variant, OpBuilder &builder)
      : source(source), graph(graph), variant(variant), builder(builder) {}

  void run() {
    SmallVector<mlir::Value> targets(graph.grads);
    if (graph.dx)
      targets.insert(targets.begin(), graph.dx);
    auto atSaved = [&](mlir::Value value) { return keeps(value); };
    SmallVector<mlir::Value> reached;
    SmallVector<Operation *> backward = graph.slice(targets, atSaved, reached);
    for (mlir::Value value : reached)
      if (value == graph.x || (value.getDefiningOp() && graph.isForward(value.getDefiningOp())))
        saved.push_back(value);
    graph.sort(saved);

    SmallVector<Operation *> forward;
    for (Operation &op : graph.block().getBody().front())
      if (graph.isForward(&op))
        forward.push_back(&op);
    emit(BlockPhase::Forward, forward, graph.y, {}, {});
    emit(BlockPhase::Backward, backward, graph.dx, {}, graph.grads);
    splitBackward(atSaved);
  }

private:
  bool keeps(mlir::Value value) const {
    auto op = value.getDefiningOp<ComputeOpInterface>();
    if (!op || !graph.isForward(op))
      return false;
    return variant == "none" || op.keep() == Keep::Always || (variant == "selective" && op.keep() == Keep::Costly);
  }

  void splitBackward(llvm::function_ref<bool(mlir::Value)> atSaved) {
    SmallVector<mlir::Value> ignored, reached, carried;
    SmallVector<Operation *> input = graph.slice(graph.dx, atSaved, ignored);
    llvm::DenseSet<Operation *> computed(input.begin(), input.end());
    auto isComputed = [&](mlir::Value value) { return value.getDefiningOp() && computed.contains(value.getDefiningOp()); };
    SmallVector<Operation *> weight =
        graph.slice(graph.grads, [&](mlir::Value value) { return atSaved(value) || isComputed(value); }, reached);
    for (mlir::Value value : reached)
      if (value == graph.dy || (isComputed(value) && !atSaved(value)))
        carried.push_back(value);
    graph.sort(carried);
    emit(BlockPhase::BackwardInput, input, graph.dx, carried, {});
    emit(BlockPhase::BackwardWeight, weight, {}, carried, graph.grads);
  }

  /// Arguments of a phase beside their values in the joint graph.
  struct Arguments {
    SmallVector<mlir::Value> values;
    SmallVector<std::string> names;
    SmallVector<int32_t> groupSizes;

    void add(mlir::Value value, std::string name) {
      values.push_back(value);
      names.push_back(std::move(name));
    }
    void closeGroup() {
      int32_t before = 0;
      for (int32_t size : groupSizes)
        before += size;
      groupSizes.push_back(values.size() - before);
    }
  };

  Arguments argumentsOf(BlockPhase phase, ArrayRef<mlir::Value> carried) const {
    bool forward = phase == BlockPhase::Forward, weight = phase == BlockPhase::BackwardWeight;
    Arguments arguments;
    BlockDefOp joint = graph.block();
    if (!forward && !weight && graph.dy)
      arguments.add(graph.dy, "dy");
    for (BlockArgument input : joint.group(BlockDefOp::Inputs))
      if (forward || input != graph.x)
        arguments.add(input, joint.argumentName(input.getArgNumber()).str());
    arguments.closeGroup();
    for (BlockArgument param : joint.group(BlockDefOp::Params))
      arguments.add(param, joint.argumentName(param.getArgNumber()).str());
    arguments.closeGroup();
    if (!forward)
      for (auto [index, value] : llvm::enumerate(saved))
        arguments.add(value, "saved" + std::to_string(index));
    arguments.closeGroup();
    if (weight)
      for (auto [index, value] : llvm::enumerate(carried))
        arguments.add(value, "carried" + std::to_string(index));
    arguments.closeGroup();
    return arguments;
  }

  /// `output` may be null. Forward yields what it saves, backward_input what it carries.
  void emit(BlockPhase phase, ArrayRef<Operation *> ops, mlir::Value output, ArrayRef<mlir::Value> carried, ArrayRef<mlir::Value> grads) {
    Arguments arguments = argumentsOf(phase, carried);
    std::string name = (source.getSymName() + "." + variant + "." + stringifyBlockPhase(phase)).str();
    SmallVector<StringRef> names(arguments.names.begin(), arguments.names.end());
    SmallVector<Type> types;
    for (mlir::Value value : arguments.values)
      types.push_back(value.getType());
    auto def = BlockDefOp::create(builder, source.getLoc(), StringRef(name), phase, arguments.groupSizes, names, types,
                                  variant, source.getSymName());
    Block &body = def.getBody().front();
    IRMapping mapping;
    for (auto [value, argument] : llvm::zip(arguments.values, body.getArguments())) {
      argument.setLoc(value.getLoc());
      mapping.map(value, argument);
    }
    OpBuilder inside = OpBuilder::atBlockEnd(&body);
    for (Operation *op : ops)
      inside.clone(*op, mapping);
    auto mapped = [&](ArrayRef<mlir::Value> values) {
      SmallVector<mlir::Value> result;
      for (mlir::Value value : values)
        result.push_back(mapping.lookup(value));
      return result;
    };
    YieldOp::create(inside, source.yield().getLoc(), output ? mapped(output) : SmallVector<mlir::Value>{},
                    phase == BlockPhase::Forward ? mapped(saved) : SmallVector<mlir::Value>{},
                    phase == BlockPhase::BackwardInput ? mapped(carried) : SmallVector<mlir::Value>{}, mapped(grads));
  }

  BlockDefOp source;
  const JointGraph &graph;
  StringRef variant;
  OpBuilder &builder;
  SmallVector<mlir::Value> saved;
};

} // namespace

LogicalResult differentiateModule(ModuleOp module) {
  SmallVector<BlockDefOp> sources;
  for (BlockDefOp def : module.getOps<BlockDefOp>()) {
    if (!def.isSource())
      return def.emitOpError("is made from another definition: the module is differentiated already");
    sources.push_back(def);
  }
  for (BlockDefOp source : sources) {
    FailureOr<JointGraph> graph = JointGraph::build(source);
    if (failed(graph))
      return failure();
    OpBuilder builder(source.getContext());
    builder.setInsertionPointAfter(source);
    for (StringRef variant : {"none", "selective", "full"})
      VariantBuilder(source, *graph, variant, builder).run();
  }
  return success();
}

} // namespace plait
