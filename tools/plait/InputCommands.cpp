// model show, cluster show, data encode: what the inputs say.
#include "Commands.h"
#include "Report.h"
#include "compiler/driver/LoadModel.h"
#include "compiler/import/ModelFacts.h"
#include "cost_model/facts/ClusterFile.h"
#include "cost_model/workload/ModelFlops.h"
#include "runtime/data/TokenFile.h"
#include <sstream>

namespace plait {

namespace {

using Json = nlohmann::ordered_json;

struct ModelFlags {
  std::string path, checkpoint, format = "text";
  int64_t sequence = 0;
};

Status modelShow(const ModelFlags &flags) {
  Result<ModelSpec> spec = readModelSpec(flags.path);
  if (!spec)
    return spec.error();
  Result<ModelParameters> parameters = modelParameters(*spec);
  if (!parameters)
    return parameters.error();
  ModelFacts facts = modelFacts(*spec, *parameters, flags.sequence ? flags.sequence : spec->maxPositions);
  std::map<std::string, int64_t> blocks;
  for (const ChainBlock &block : parameters->chain)
    ++blocks[block.kind];
  Json json = {{"name", spec->name}, {"family", spec->family}, {"parameters", facts.parameters}, {"flops_per_token", facts.flopsPerToken},
               {"flops_definition", flopsDefinition()}, {"seq_len", facts.sequence}, {"layers", facts.layers}, {"hidden", spec->hidden},
               {"heads", spec->heads}, {"kv_heads", spec->kvHeads}, {"head_dim", spec->headDim}, {"ffn", spec->ffn}, {"vocab_size", spec->vocab},
               {"tied", spec->tied}, {"blocks", blocks}, {"tensors", parameters->params.size()},
               {"max_tensor_parallel", facts.maxTensorParallel}, {"even_tensor_parallel", facts.evenTensorParallel}};
  std::ostringstream text;
  text << spec->name << " (" << spec->family << "): " << facts.parameters << " parameters in " << parameters->params.size() << " tensors\n"
       << "  layers " << facts.layers << ", hidden " << spec->hidden << ", heads " << spec->heads << " (" << spec->kvHeads << " KV) of "
       << spec->headDim << ", FFN " << spec->ffn << (spec->gated ? " gated" : "") << ", vocabulary " << spec->vocab << (spec->tied ? ", tied" : "")
       << "\n  " << facts.flopsPerToken / 1e9 << " GFLOP per token at sequence " << facts.sequence << ": " << flopsDefinition()
       << "\n  tensor parallel: 1 to " << facts.maxTensorParallel << " (even:";
  for (int64_t degree : facts.evenTensorParallel)
    text << " " << degree;
  text << ")\n";
  print(flags.format, json, text.str());
  return success();
}

struct ClusterFlags {
  std::string path, format = "text";
};

Status clusterShow(const ClusterFlags &flags) {
  Result<std::string> file = readFile(flags.path, 16 << 20);
  if (!file)
    return file.error();
  Result<Cluster> cluster = readCluster(*file, flags.path, Facts::builtin());
  if (!cluster)
    return cluster.error();
  Json json = {{"name", cluster->name}, {"devices", cluster->deviceCount()}, {"classes", Json::array()}, {"domains", cluster->domains.size()}};
  std::ostringstream text;
  text << cluster->name << ": " << cluster->deviceCount() << " devices in " << cluster->domains.size() << " domains\n";
  for (const DeviceClass &deviceClass : cluster->classes) {
    Result<const DeviceFacts *> device = Facts::builtin().device(deviceClass.facts);
    if (!device)
      return device.error();
    uint32_t count = 0;
    for (const Domain &domain : cluster->domains)
      if (domain.deviceClass != kNone && cluster->classes[domain.deviceClass].name == deviceClass.name)
        count += domain.devices;
    Json figures = Json::object();
    text << "  " << count << " x " << deviceClass.name << ": " << bytesText(double(deviceClass.memoryBytes)) << " memory\n";
    for (const auto &[name, figure] : (*device)->figures) {
      figures[name] = {{"value", figure.value}, {"unit", figure.unit}, {"label", nameOf(figure.label)}, {"source", figure.source}};
      text << "    " << name << " " << figure.value << " " << figure.unit << " (" << nameOf(figure.label) << ")\n";
    }
    json["classes"].push_back({{"name", deviceClass.name}, {"devices", count}, {"memory_bytes", deviceClass.memoryBytes}, {"figures", figures}});
  }
  print(flags.format, json, text.str());
  return success();
}

} // namespace

void addInputCommands(Cli &cli) {
  CLI::App *model = cli.app.add_subcommand("model", "about a model")->require_subcommand(1);
  auto modelFlags = std::make_shared<ModelFlags>();
  CLI::App *command = model->add_subcommand("show", "parameters, FLOPs per token, blocks, legal degrees");
  command->add_option("model", modelFlags->path, "config.json")->required();
  command->add_option("--seq-len", modelFlags->sequence, "tokens of a sequence; default: the model's longest");
  addFormat(*command, modelFlags->format);
  command->callback([&cli, modelFlags] { cli.action = [modelFlags] { return modelShow(*modelFlags); }; });

  CLI::App *clusterApp = cli.app.add_subcommand("cluster", "about a cluster")->require_subcommand(1);
  auto clusterFlags = std::make_shared<ClusterFlags>();
  command = clusterApp->add_subcommand("show", "devices, memory and the facts behind every price");
  command->add_option("cluster", clusterFlags->path, "cluster file")->required();
  addFormat(*command, clusterFlags->format);
  command->callback([&cli, clusterFlags] { cli.action = [clusterFlags] { return clusterShow(*clusterFlags); }; });

  CLI::App *data = cli.app.add_subcommand("data", "about training data")->require_subcommand(1);
  auto inputs = std::make_shared<std::vector<std::string>>();
  auto output = std::make_shared<std::string>();
  command = data->add_subcommand("encode", "byte-level tokens (0..255) from files, in order");
  command->add_option("files", *inputs, "text or any other files")->required();
  command->add_option("-o,--output", *output, "token file")->required();
  command->callback([&cli, inputs, output] { cli.action = [inputs, output] { return encodeBytes(*inputs, *output); }; });
}

} // namespace plait
