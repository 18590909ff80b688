// compile and estimate.
#include "Commands.h"
#include "Report.h"
#include "compiler/driver/Phases.h"
#include "compiler/search/Layouts.h"
#include "cost_model/problem/Names.h"
#include "cost_model/problem/Rules.h"
#include "runtime/plan/FileIo.h"
#include "runtime/plan/PlanFile.h"
#include <atomic>
#include <charconv>
#include <csignal>
#include <iostream>
#include <unistd.h>

namespace plait {

namespace {

std::atomic<bool> interrupted{false};

struct CompileFlags {
  CompileRequest request;
  std::string precision = "bf16", optimizer = "adamw", output, format = "text";
  std::string from, to = "emit", input; ///< phases; the text that `from` starts with
  std::vector<std::string> fix;
  bool evenLayers = false, requireProof = false;
};

void addCommon(CLI::App &command, CompileFlags &flags) {
  flags.request.job.seqLen = flags.request.job.globalBatch = 0;
  command.add_option("--model", flags.request.modelPath, "config.json of a Hugging Face model, or .mlir of the model dialect");
  command.add_option("--cluster", flags.request.clusterPath, "cluster file (JSON)");
  command.add_option("--checkpoint", flags.request.checkpointFolder, "folder of safetensors whose headers must match the model");
  command.add_option("--seq-len", flags.request.job.seqLen, "tokens of a sequence");
  command.add_option("--global-batch", flags.request.job.globalBatch, "sequences of an optimizer step");
  command.add_option("--precision", flags.precision, "bf16 (with f32 master weights) or fp32")->capture_default_str();
  command.add_option("--optimizer", flags.optimizer, "adamw or sgd")->capture_default_str();
  command.add_option("--target", flags.request.target, "whose rules the plan must keep")->capture_default_str();
  command.add_option("--fix", flags.fix,
                     "fix choices: tp=, pp=, dp=, micro_batch=, sequence_parallel=yes|no, recompute=, sharding=, schedule=, split_wgrad=yes|no")
      ->delimiter(',');
  command.add_option("-o,--output", flags.output, "plan file");
  addFormat(command, flags.format);
}

Result<uint32_t> number(const std::string &key, const std::string &text) {
  uint32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0)
    return usageError("--fix " + key + "=" + text + ": expected a number from 1 up");
  return value;
}

/// One "key=value" of --fix narrows the space.
Status applyFix(const std::string &text, Space &space) {
  size_t equals = text.find('=');
  std::string key = text.substr(0, equals), value = equals == std::string::npos ? "" : text.substr(equals + 1);
  std::vector<std::pair<std::string, std::vector<uint32_t> *>> degrees = {
      {"tp", &space.tp}, {"pp", &space.pp}, {"dp", &space.dp}, {"micro_batch", &space.microBatch}};
  std::vector<std::tuple<std::string, std::vector<std::string> *, const std::vector<std::string> *>> names = {
      {"recompute", &space.recompute, &recomputeNames()}, {"sharding", &space.sharding, &shardingNames()}, {"schedule", &space.schedules, &scheduleNames()}};
  std::vector<std::pair<std::string, std::vector<bool> *>> switches = {
      {"sequence_parallel", &space.sequenceParallel}, {"split_wgrad", &space.splitWeightGrad}};
  for (auto &[name, list] : degrees)
    if (name == key) {
      Result<uint32_t> degree = number(key, value);
      if (!degree)
        return degree.error();
      list->push_back(*degree);
      return success();
    }
  for (auto &[name, list, known] : names)
    if (name == key) {
      if (std::find(known->begin(), known->end(), value) == known->end())
        return usageError("--fix " + text + ": what works: " + joined(*known));
      list->push_back(value);
      return success();
    }
  for (auto &[name, list] : switches)
    if (name == key) {
      if (value != "yes" && value != "no")
        return usageError("--fix " + text + ": what works: yes, no");
      list->push_back(value == "yes");
      return success();
    }
  std::vector<std::string> known = {"tp", "pp", "dp", "micro_batch", "recompute", "sharding", "schedule", "sequence_parallel", "split_wgrad"};
  return usageError("--fix " + text + ": '" + key + "' is not a choice; nearest: " + joined(nearestNames(key, known)));
}

/// Flags that the input does not make up for.
Status checkFlags(const CompileFlags &flags, bool model, bool job) {
  auto missing = [](const char *flag, const char *what) { return usageError(std::string(flag) + " is missing: " + what); };
  if (model && flags.request.modelPath.empty())
    return missing("--model", "config.json of a Hugging Face model, or .mlir of the model dialect");
  if (!job)
    return success();
  if (flags.request.clusterPath.empty())
    return missing("--cluster", "a cluster file (JSON)");
  if (flags.request.job.seqLen == 0)
    return missing("--seq-len", "tokens of a sequence");
  if (flags.request.job.globalBatch == 0)
    return missing("--global-batch", "sequences of an optimizer step");
  return success();
}

Status finishFlags(CompileFlags &flags) {
  Result<Precision> precision = precisionByName(flags.precision);
  if (!precision)
    return precision.error();
  flags.request.job.precision = *precision;
  flags.request.job.optimizer = flags.optimizer;
  flags.request.space.unevenLayers = !flags.evenLayers;
  for (const std::string &fix : flags.fix)
    if (Status s = applyFix(fix, flags.request.space); !s)
      return s;
  return success();
}

void showProgress(const SearchProgress &progress, double seconds) {
  double left = progress.done ? seconds * double(progress.total - progress.done) / double(progress.done) : 0;
  std::string best = progress.best < 1e300 ? secondsText(progress.best) : "none";
  std::fprintf(stderr, "\rsearch: best %s, bound %s, %llu of %llu layouts, %llu plans, %.0f s left   ", best.c_str(),
               secondsText(progress.bound).c_str(), (unsigned long long)progress.done, (unsigned long long)progress.total,
               (unsigned long long)progress.evaluated, left);
}

Status writeResult(CompiledPlan &compiled, const CompileFlags &flags, double searchSeconds) {
  Result<nlohmann::ordered_json> report = planReport(compiled.plan, compiled.simulation);
  if (!report)
    return report.error();
  (*report)["search"]["seconds"] = searchSeconds;
  if (compiled.search) {
    (*report)["search"]["proven"] = compiled.search->proven;
    (*report)["search"]["evaluated"] = compiled.search->evaluated;
  }
  if (!flags.output.empty())
    if (Status s = savePlan(flags.output, compiled.plan); !s)
      return s;
  print(flags.format, *report, reportText(*report));
  if (flags.requireProof && compiled.search && !compiled.search->proven)
    return Error{ExitCode::Unproven, "the budget ended without proof; the gap is printed above"};
  return success();
}

Status writeText(const CompileFlags &flags, const Result<std::string> &text) {
  if (!text)
    return text.error();
  if (!flags.output.empty())
    return writeFileAtomically(flags.output, *text);
  std::cout << *text;
  return success();
}

/// A text of phase Lower needs no more than to be written as a plan file, and shown.
Status emitLowered(CompileFlags &flags, mlir::MLIRContext &context, CompilePhase to) {
  Result<pb::Plan> plan = planFromLowered(context, flags.input);
  if (!plan)
    return plan.error();
  if (to == CompilePhase::Lower)
    return writeText(flags, textOfPlan(context, *plan));
  Result<SimulationResult> simulation = simulate(*plan);
  if (!simulation)
    return simulation.error();
  CompiledPlan compiled;
  compiled.plan = std::move(*plan);
  compiled.simulation = std::move(*simulation);
  return writeResult(compiled, flags, 0);
}

struct PhaseRange {
  CompilePhase from = CompilePhase::Import, to = CompilePhase::Emit;
};

Result<PhaseRange> phasesOf(const CompileFlags &flags) {
  Result<CompilePhase> from = compilePhaseByName(flags.from.empty() ? "import" : flags.from), to = compilePhaseByName(flags.to);
  if (!from || !to)
    return (from ? to : from).error();
  if (flags.from.empty() != flags.input.empty())
    return usageError(flags.from.empty() ? "'" + flags.input + "' is given without --compile-from, the phase that it holds"
                                         : "--compile-from=" + flags.from + " needs the text to start from");
  if (*from > *to || *from == CompilePhase::Emit)
    return usageError("--compile-from=" + flags.from + " --compile-to=" + flags.to + ": what works: from a phase before emit to it or a later one");
  bool cluster = *from < CompilePhase::Plan && *to >= CompilePhase::Plan;
  if (Status s = checkFlags(flags, flags.from.empty(), cluster); !s)
    return s.error();
  return PhaseRange{*from, *to};
}

/// Where no plan is asked for, neither cluster nor job is.
Status showModel(CompileFlags &flags, mlir::MLIRContext &context, const PhaseRange &range) {
  std::string path = flags.from.empty() ? flags.request.modelPath : flags.input;
  Result<LoadedModel> model = range.from == CompilePhase::Import ? loadModel(context, path, flags.request.checkpointFolder)
                                                                 : loadDifferentiated(context, path);
  if (!model)
    return model.error();
  PreparedProblem prepared;
  prepared.model = std::move(*model);
  return writeText(flags, textOfPhase(context, prepared, nullptr, range.to));
}

Status compileCommand(CompileFlags &flags, bool quiet) {
  if (Status s = finishFlags(flags); !s)
    return s;
  Result<PhaseRange> range = phasesOf(flags);
  if (!range)
    return range.error();
  auto context = makeContext();
  if (range->from == CompilePhase::Lower)
    return emitLowered(flags, *context, range->to);
  if (range->to < CompilePhase::Plan)
    return showModel(flags, *context, *range);
  Result<PreparedProblem> prepared = flags.from.empty() ? prepareProblem(*context, flags.request)
                                                        : prepareFrom(*context, flags.request, range->from, flags.input);
  if (!prepared)
    return prepared.error();
  auto begin = std::chrono::steady_clock::now();
  auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  std::signal(SIGINT, [](int) { interrupted = true; });
  flags.request.search.interrupted = [] { return interrupted.load(); };
  bool terminal = isatty(STDERR_FILENO);
  if (!quiet && terminal)
    flags.request.search.progress = [&](const SearchProgress &progress) { showProgress(progress, seconds()); };
  Result<CompiledPlan> compiled = compilePlan(*context, *prepared, flags.request);
  if (!quiet && terminal)
    std::fputs("\n", stderr);
  if (!compiled)
    return compiled.error();
  Status written = range->to == CompilePhase::Emit    ? writeResult(*compiled, flags, seconds())
                   : range->to == CompilePhase::Lower ? writeText(flags, textOfPlan(*context, compiled->plan))
                                                      : writeText(flags, textOfPhase(*context, *prepared, &compiled->solution, range->to));
  if (!written)
    return written;
  return interrupted ? Status(Error{ExitCode::Interrupted, "interrupted: the plan is the best found so far, not proven"}) : success();
}

/// A layout from the fixed choices; what is left open takes the plainest value, and dp takes all devices.
Result<Layout> fixedLayout(const Problem &problem) {
  const Space &space = problem.space;
  auto one = [](const auto &list, auto plain) { return list.empty() ? plain : typename std::decay_t<decltype(list)>::value_type(list.front()); };
  Layout layout;
  layout.tp = one(space.tp, 1u);
  layout.pp = one(space.pp, 1u);
  layout.dp = one(space.dp, std::max(problem.cluster.deviceCount() / (layout.tp * layout.pp), 1u));
  layout.microBatch = one(space.microBatch, 1u);
  layout.sequenceParallel = !space.sequenceParallel.empty() && space.sequenceParallel.front() && layout.tp > 1;
  layout.splitWeightGrad = !space.splitWeightGrad.empty() && space.splitWeightGrad.front();
  layout.recompute = space.recompute.empty() ? "none" : space.recompute.front();
  layout.sharding = space.sharding.empty() ? "none" : space.sharding.front();
  layout.schedule = space.schedules.empty() ? "1f1b" : space.schedules.front();
  if (layout.pp > problem.model->chain.size())
    return Error{ExitCode::Infeasible, "pp=" + std::to_string(layout.pp) + ": the chain has " + std::to_string(problem.model->chain.size()) +
                                           " blocks, and no stage may be empty; what works: 1 to " + std::to_string(problem.model->chain.size()) + " [F-09]"};
  int64_t batch = layout.microBatch * layout.dp;
  if (problem.job.globalBatch % batch)
    return Error{ExitCode::Infeasible, "global batch " + std::to_string(problem.job.globalBatch) + ": micro_batch x dp = " + std::to_string(batch) +
                                           " does not divide it [F-18]"};
  layout.microbatches = problem.job.globalBatch / batch;
  return layout;
}

Status estimateCommand(CompileFlags &flags) {
  if (Status s = finishFlags(flags); !s)
    return s;
  if (Status s = checkFlags(flags, true, true); !s)
    return s;
  auto context = makeContext();
  Result<PreparedProblem> prepared = prepareProblem(*context, flags.request);
  if (!prepared)
    return prepared.error();
  Result<Solution> solution = [&]() -> Result<Solution> {
    if (!flags.request.planPath.empty())
      return readSolution(*context, flags.request.planPath);
    Result<Layout> layout = fixedLayout(prepared->problem);
    if (!layout)
      return layout.error();
    return solutionOf(prepared->problem, *layout, evenCuts(prepared->problem, *layout));
  }();
  if (!solution)
    return solution.error();
  prepared->problem.space = Space();
  prepared->problem.space.idleDevices = true;
  Result<CompiledPlan> compiled = priceSolution(*context, *prepared, flags.request, *solution);
  if (!compiled)
    return compiled.error();
  return writeResult(*compiled, flags, 0);
}

} // namespace

void addCompileCommands(Cli &cli) {
  auto compile = std::make_shared<CompileFlags>(), estimate = std::make_shared<CompileFlags>();
  CLI::App *command = cli.app.add_subcommand("compile", "search the best plan for a model on a cluster and write it");
  addCommon(*command, *compile);
  command->add_option("--plan", compile->request.planPath, "text form of a plan (plan.solution) to compile instead of searching");
  std::string names;
  for (const CompilePhaseInfo &info : compilePhases())
    names += std::string("\n") + info.name + ": " + info.holds;
  command->add_option("--compile-to", compile->to, "stop behind a phase and print its IR (emit writes the plan file):" + names)->capture_default_str();
  command->add_option("--compile-from", compile->from, "start from the IR of a phase, given as TEXT");
  command->add_option("text", compile->input, "IR of the phase of --compile-from");
  command->add_option("--solver", compile->request.solver, "exact or exhaustive")->capture_default_str();
  command->add_option("--threads", compile->request.search.threads, "threads of the search; the result does not depend on them")->capture_default_str();
  command->add_option("--budget", compile->request.search.budget, "plans that the search may evaluate")->capture_default_str();
  command->add_option("--top", compile->request.simulate, "best layouts that are simulated")->capture_default_str();
  command->add_flag("--even-layers", compile->evenLayers, "stages hold equal numbers of layers");
  command->add_flag("--allow-idle", compile->request.space.idleDevices, "devices may be left out");
  command->add_flag("--require-proof", compile->requireProof, "exit with 5 unless the plan is proven best");
  command->callback([&cli, compile] { cli.action = [&cli, compile] { return compileCommand(*compile, cli.quiet); }; });

  command = cli.app.add_subcommand("estimate", "price a given layout, without a search; one that does not fit is priced too");
  addCommon(*command, *estimate);
  command->add_option("--plan", estimate->request.planPath, "text form of a plan (plan.solution)");
  command->callback([&cli, estimate] { cli.action = [estimate] { return estimateCommand(*estimate); }; });
}

} // namespace plait
