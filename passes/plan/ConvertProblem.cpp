#include "passes/plan/Convert.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace plait {

// ---- Precision: a name, or the seven types in the order of the struct ----

static constexpr DType Precision::*kRoles[] = {&Precision::param,  &Precision::compute, &Precision::saved,
                                               &Precision::grad,   &Precision::reduce,  &Precision::master,
                                               &Precision::moments};
static constexpr const char *kNamedPrecisions[] = {"fp32", "bf16"};

static Result<Precision> precisionFromText(StringRef text) {
  if (!text.contains(','))
    return precisionByName(text.str());
  Precision precision;
  SmallVector<StringRef> words;
  text.split(words, ',');
  Error error = usageError("precision \"" + text.str() + "\": expected a name, or seven types out of f32, bf16, f16, " +
                           "f64 for param, compute, saved, grad, reduce, master, moments");
  if (words.size() != std::size(kRoles))
    return error;
  for (auto [role, word] : llvm::zip(kRoles, words)) {
    precision.*role = DType::None;
    for (DType type : {DType::F32, DType::BF16, DType::F16, DType::F64})
      if (word.trim() == StringRef(nameOf(type)))
        precision.*role = type;
    if (precision.*role == DType::None)
      return error;
  }
  return precision;
}

static std::string textFromPrecision(const Precision &precision) {
  for (const char *name : kNamedPrecisions)
    if (Result<Precision> named = precisionByName(name); named && *named == precision)
      return name;
  SmallVector<std::string> words;
  for (auto role : kRoles)
    words.emplace_back(nameOf(precision.*role));
  return llvm::join(words, ",");
}

// ---- Op -> struct ----

static Cluster clusterFromOp(plan::ClusterOp op) {
  Cluster cluster;
  cluster.name = op.getName().str();
  llvm::StringMap<Id> classes, domains;
  for (plan::ClassOp classOp : op.getBody().getOps<plan::ClassOp>()) {
    classes[classOp.getName()] = cluster.classes.size();
    cluster.classes.push_back({classOp.getName().str(), classOp.getFacts().str(), classOp.getMemoryBytes(),
                               classOp.getReservedBytes()});
  }
  for (plan::DomainOp domainOp : op.getBody().getOps<plan::DomainOp>()) {
    domains[domainOp.getName()] = cluster.domains.size();
    Domain &domain = cluster.domains.emplace_back();
    domain.name = domainOp.getName().str();
    if (domainOp.getParent())
      domain.parent = domains.lookup(*domainOp.getParent());
    if (domainOp.getDeviceClass())
      domain.deviceClass = classes.lookup(*domainOp.getDeviceClass());
    domain.devices = domainOp.getDevices();
    domain.link = domainOp.getLink().str();
    domain.failsTogether = domainOp.getFailsTogether();
  }
  return cluster;
}

template <typename T, typename List> static std::vector<T> listOf(const std::optional<List> &list) {
  return list ? std::vector<T>(list->begin(), list->end()) : std::vector<T>();
}

static std::vector<std::string> wordsOf(std::optional<ArrayAttr> list) {
  std::vector<std::string> words;
  if (list)
    for (StringAttr word : list->getAsRange<StringAttr>())
      words.push_back(word.str());
  return words;
}

static Space spaceFromOp(plan::SpaceOp op) {
  Space space;
  space.tp = listOf<uint32_t>(op.getTp());
  space.pp = listOf<uint32_t>(op.getPp());
  space.dp = listOf<uint32_t>(op.getDp());
  space.microBatch = listOf<uint32_t>(op.getMicroBatch());
  space.schedules = wordsOf(op.getSchedules());
  space.recompute = wordsOf(op.getRecompute());
  space.sharding = wordsOf(op.getSharding());
  space.sequenceParallel = listOf<bool>(op.getSequenceParallel());
  space.splitWeightGrad = listOf<bool>(op.getSplitWgrad());
  space.unevenLayers = !op.getEvenLayers();
  space.idleDevices = op.getIdleDevices();
  return space;
}

Result<Problem> problemFromOp(plan::ProblemOp op) {
  Problem problem;
  problem.target = op.getTarget().str();
  for (plan::ClusterOp cluster : op.getBody().getOps<plan::ClusterOp>())
    problem.cluster = clusterFromOp(cluster);
  for (plan::JobOp job : op.getBody().getOps<plan::JobOp>()) {
    Result<Precision> precision = precisionFromText(job.getPrecision());
    if (!precision)
      return precision.error();
    problem.job = {job.getGlobalBatch(), job.getSeqLen(), *precision, job.getOptimizer().str()};
  }
  for (plan::SpaceOp space : op.getBody().getOps<plan::SpaceOp>())
    problem.space = spaceFromOp(space);
  return problem;
}

// ---- Struct -> op ----

/// Why the cluster has no text form; empty if it has one.
static std::string whyNoText(const Cluster &cluster) {
  llvm::StringSet<> classes, domains;
  for (const DeviceClass &deviceClass : cluster.classes)
    if (!classes.insert(deviceClass.name).second)
      return "two device classes are called \"" + deviceClass.name + "\"";
  for (auto [index, domain] : llvm::enumerate(cluster.domains)) {
    if (!domains.insert(domain.name).second)
      return "two domains are called \"" + domain.name + "\"";
    if ((index == 0) != (domain.parent == kNone) || (index > 0 && domain.parent >= index))
      return "domain \"" + domain.name + "\" does not come after its parent; the first domain is the only root";
    if (domain.deviceClass != kNone && domain.deviceClass >= cluster.classes.size())
      return "domain \"" + domain.name + "\" names a device class that does not exist";
  }
  return "";
}

static void buildCluster(OpBuilder &builder, Location loc, const Cluster &cluster) {
  auto op = plan::ClusterOp::create(builder, loc, cluster.name);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  for (const DeviceClass &deviceClass : cluster.classes)
    plan::ClassOp::create(builder, loc, deviceClass.name, deviceClass.facts, deviceClass.memoryBytes,
                          deviceClass.reservedBytes);
  for (const Domain &domain : cluster.domains) {
    StringAttr parent, deviceClass;
    if (domain.parent != kNone)
      parent = builder.getStringAttr(cluster.domains[domain.parent].name);
    if (domain.deviceClass != kNone)
      deviceClass = builder.getStringAttr(cluster.classes[domain.deviceClass].name);
    plan::DomainOp::create(builder, loc, builder.getStringAttr(domain.name), parent, deviceClass, domain.devices,
                           domain.link, domain.failsTogether);
  }
}

static void buildSpace(OpBuilder &builder, Location loc, const Space &space) {
  auto degrees = [&](const std::vector<uint32_t> &list) {
    return list.empty() ? nullptr : builder.getDenseI64ArrayAttr(std::vector<int64_t>(list.begin(), list.end()));
  };
  auto words = [&](const std::vector<std::string> &list) {
    return list.empty() ? nullptr : builder.getStrArrayAttr(SmallVector<StringRef>(list.begin(), list.end()));
  };
  auto flags = [&](const std::vector<bool> &list) {
    return list.empty() ? nullptr : builder.getDenseBoolArrayAttr(SmallVector<bool>(list.begin(), list.end()));
  };
  plan::SpaceOp::create(builder, loc, degrees(space.tp), degrees(space.pp), degrees(space.dp),
                        degrees(space.microBatch), words(space.schedules), words(space.recompute), words(space.sharding),
                        flags(space.sequenceParallel), flags(space.splitWeightGrad), !space.unevenLayers,
                        space.idleDevices);
}

Result<plan::ProblemOp> buildProblemOp(OpBuilder &builder, const Problem &problem, StringRef name) {
  if (std::string reason = whyNoText(problem.cluster); !reason.empty())
    return usageError("cluster \"" + problem.cluster.name + "\" has no text form: " + reason);
  Location loc = builder.getUnknownLoc();
  auto op = plan::ProblemOp::create(builder, loc, name, problem.target);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
  buildCluster(builder, loc, problem.cluster);
  const JobSpec &job = problem.job;
  plan::JobOp::create(builder, loc, job.globalBatch, job.seqLen, textFromPrecision(job.precision), job.optimizer);
  buildSpace(builder, loc, problem.space);
  return op;
}

} // namespace plait
