// dump_logits PLAN TOKENS WEIGHTS OUT: runs the first step of a one-rank plan on the reference backend and writes the logits
// as they reach the loss: f32 [positions, samples, vocabulary] of each micro-batch, one after another.
#include "runtime/data/TokenBatches.h"
#include "runtime/executor/StateFiles.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/reference/ReferenceWorld.h"
#include <fstream>
#include <iostream>

using namespace plait;

namespace {

/// Copies the first operand before the launch runs.
class Recorded final : public CompiledLaunch {
public:
  Recorded(std::unique_ptr<CompiledLaunch> launch, size_t elements, std::vector<float> &record)
      : launch(std::move(launch)), elements(elements), record(record) {}
  void run(void *const *data) override {
    const float *logits = static_cast<const float *>(data[0]);
    record.insert(record.end(), logits, logits + elements);
    launch->run(data);
  }

private:
  std::unique_ptr<CompiledLaunch> launch;
  size_t elements;
  std::vector<float> &record;
};

/// The reference backend, listening to the first kernel of the loss.
class ListeningBackend final : public Backend {
public:
  std::string name() const override { return inner->name(); }
  Result<std::unique_ptr<CompiledLaunch>> compile(const LaunchDesc &desc) override {
    Result<std::unique_ptr<CompiledLaunch>> launch = inner->compile(desc);
    if (!launch || desc.kernel != Kernel::RowMax)
      return launch;
    size_t elements = 1;
    for (int64_t extent : desc.refs[0].shape)
      elements *= extent;
    return std::unique_ptr<CompiledLaunch>(std::make_unique<Recorded>(std::move(*launch), elements, logits));
  }
  Result<void *> allocate(uint64_t bytes) override { return inner->allocate(bytes); }
  void release(void *memory, uint64_t bytes) override { inner->release(memory, bytes); }
  void zero(void *memory, uint64_t bytes) override { inner->zero(memory, bytes); }
  void copy(const TensorDesc &from, const void *source, const TensorDesc &to, void *target) override {
    inner->copy(from, source, to, target);
  }
  double sumOfSquares(const float *data, uint64_t elements) override { return inner->sumOfSquares(data, elements); }
  void optimizerUpdate(const OptimizerStep &step, bool decay, uint64_t elements, const float *grad, float *master, float *moment1,
                       float *moment2, void *param, DType paramType) override {
    inner->optimizerUpdate(step, decay, elements, grad, master, moment1, moment2, param, paramType);
  }

  std::vector<float> logits;

private:
  std::unique_ptr<Backend> inner = makeReferenceBackend();
};

Status dumpLogits(const std::string &planPath, const std::string &tokens, const std::string &weights, const std::string &out) {
  Result<pb::Plan> plan = loadPlan(planPath);
  if (!plan)
    return plan.error();
  Result<TokenBatches> data = TokenBatches::open(tokens, {plan->job().seq_len(), plan->job().global_batch(), plan->job().vocab_size()});
  if (!data)
    return data.error();
  ListeningBackend backend;
  ReferenceWorld world(1);
  std::unique_ptr<Communicator> communicator = world.communicator(0);
  Executor::Options options;
  options.data = &*data;
  Result<std::unique_ptr<Executor>> executor = Executor::create(*plan, 0, backend, *communicator, options);
  if (!executor)
    return executor.error();
  if (Status s = StateFiles{*plan, **executor, *communicator}.loadWeights(weights); !s)
    return s;
  Result<StepReport> report = (*executor)->runStep(1);
  if (!report)
    return report.error();
  std::ofstream file(out, std::ios::binary);
  file.write(reinterpret_cast<const char *>(backend.logits.data()), std::streamsize(backend.logits.size() * sizeof(float)));
  return file ? success() : Status(usageError(out + ": cannot be written"));
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: dump_logits PLAN TOKENS WEIGHTS OUT\n";
    return int(ExitCode::Usage);
  }
  Status status = dumpLogits(argv[1], argv[2], argv[3], argv[4]);
  if (!status)
    std::cerr << "dump_logits: " << status.error().message << "\n";
  return status ? 0 : int(status.error().code);
}
