#include "compiler/import/ImportConfig.h"
#include "compiler/import/Blocks.h"
#include "compiler/import/Checkpoint.h"
#include "dialects/model/Model.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include <set>

using namespace mlir;

namespace plait {

static_assert(int(ParamTensor::Init::Zeros) == int(model::InitKind::Zeros) &&
              int(ParamTensor::Init::Ones) == int(model::InitKind::Ones) &&
              int(ParamTensor::Init::Normal) == int(model::InitKind::Normal));

static bool storedAsUsed(const ParamTensor &param) {
  int64_t stride = 1;
  for (size_t dim = param.hfStrides.size(); dim-- > 0; stride *= param.hfSizes[dim])
    if (param.hfStrides[dim] != stride)
      return false;
  return param.hfShape == param.shape && param.hfSizes == param.shape && param.hfBase == 0;
}

static void buildParam(OpBuilder &builder, const ParamTensor &param) {
  bool plain = storedAsUsed(param);
  auto list = [&](const std::vector<int64_t> &values) {
    return plain ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(values);
  };
  Type type = RankedTensorType::get(param.shape, builder.getF32Type());
  auto init = model::InitKindAttr::get(builder.getContext(), model::InitKind(param.init));
  model::ParamOp::create(builder, NameLoc::get(builder.getStringAttr(param.name)), builder.getStringAttr(param.name),
                         TypeAttr::get(type), init, builder.getF64FloatAttr(param.initStd),
                         builder.getBoolAttr(param.decay),
                         param.hfName == param.name ? StringAttr() : builder.getStringAttr(param.hfName),
                         list(param.hfShape), builder.getI64IntegerAttr(param.hfBase), list(param.hfSizes),
                         list(param.hfStrides));
}

static void buildUse(OpBuilder &builder, const ChainBlock &block, const ModelParameters &parameters) {
  SmallVector<Attribute> params;
  for (const RoleParam &param : block.params)
    params.push_back(FlatSymbolRefAttr::get(builder.getContext(), parameters.params[param.param].name));
  std::string name = block.layer < 0 ? block.kind : "layer " + std::to_string(block.layer);
  model::UseOp::create(builder, NameLoc::get(builder.getStringAttr(name)),
                       FlatSymbolRefAttr::get(builder.getContext(), block.kind),
                       block.layer < 0 ? IntegerAttr() : builder.getI64IntegerAttr(block.layer),
                       builder.getArrayAttr(params));
}

Result<OwningOpRef<ModuleOp>> buildModel(MLIRContext &context, const ModelSpec &spec,
                                         const ModelParameters &parameters) {
  context.getOrLoadDialect<model::ModelDialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, NameLoc::get(builder.getStringAttr(spec.name)));
  (*module)->setAttr(model::kNameAttr, builder.getStringAttr(spec.name));
  (*module)->setAttr(model::kFamilyAttr, builder.getStringAttr(spec.family));
  (*module)->setAttr(model::kVocabSizeAttr, builder.getI64IntegerAttr(spec.vocab));
  builder.setInsertionPointToEnd(module->getBody());

  for (const ParamTensor &param : parameters.params)
    buildParam(builder, param);
  std::set<std::string> built;
  for (const ChainBlock &block : parameters.chain)
    if (built.insert(block.kind).second)
      buildBlock(builder, spec, block, parameters);
  for (const ChainBlock &block : parameters.chain)
    buildUse(builder, block, parameters);

  std::string problem;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) { problem += diagnostic.str() + "\n"; });
  if (failed(verify(*module)))
    return Error{ExitCode::Internal, spec.name + ": the imported model does not verify: " + problem};
  return module;
}

Result<OwningOpRef<ModuleOp>> importConfig(MLIRContext &context, const std::string &path,
                                           const ImportOptions &options) {
  Result<ModelSpec> spec = readModelSpec(path);
  if (!spec)
    return spec.error();
  Result<ModelParameters> parameters = modelParameters(*spec);
  if (!parameters)
    return parameters.error();
  if (!options.checkpointFolder.empty()) {
    Result<Checkpoint> checkpoint = readCheckpointHeaders(options.checkpointFolder);
    if (!checkpoint)
      return checkpoint.error();
    if (Status status = matchCheckpoint(*checkpoint, options.checkpointFolder, *parameters); !status)
      return status.error();
  }
  return buildModel(context, *spec, *parameters);
}

} // namespace plait
