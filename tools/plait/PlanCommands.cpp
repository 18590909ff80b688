// explain and simulate: readers of a plan file.
#include "Commands.h"
#include "Report.h"
#include "cost_model/problem/Decisions.h"
#include "compiler/driver/Phases.h"
#include "cost_model/simulate/Trace.h"
#include "runtime/plan/FileIo.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/verify/Verify.h"
#include <iostream>

namespace plait {

namespace {

struct PlanFlags {
  std::string planPath, tracePath, emit, format = "text";
};

Status readPlan(PlanFlags &flags, bool trace) {
  Result<pb::Plan> plan = loadPlan(flags.planPath);
  if (!plan)
    return plan.error();
  if (Status s = verify(*plan); !s)
    return s;
  if (flags.emit == "plan") {
    std::cout << textOfSolution(*makeContext(), solutionFromDecisions(plan->decisions()));
    return success();
  }
  SimulateOptions options;
  if (trace && !flags.tracePath.empty())
    options.events = SimulateOptions::Events::Instructions;
  Result<SimulationResult> simulation = simulate(*plan, options);
  if (!simulation)
    return simulation.error();
  if (!flags.tracePath.empty())
    if (Status s = writeFileAtomically(flags.tracePath, chromeTrace(*simulation)); !s)
      return s;
  Result<nlohmann::ordered_json> report = planReport(*plan, *simulation);
  if (!report)
    return report.error();
  print(flags.format, *report, reportText(*report));
  return success();
}

} // namespace

void addPlanCommands(Cli &cli) {
  auto explain = std::make_shared<PlanFlags>(), simulated = std::make_shared<PlanFlags>();
  CLI::App *command = cli.app.add_subcommand("explain", "what a plan does, what binds it, and what the runners-up lose");
  command->add_option("plan", explain->planPath, "plan file")->required();
  command->add_option("--emit", explain->emit, "plan: print the decisions as plan.solution text, to be edited and compiled with --plan")
      ->check(CLI::IsMember({"plan"}));
  addFormat(*command, explain->format);
  command->callback([&cli, explain] { cli.action = [explain] { return readPlan(*explain, false); }; });

  command = cli.app.add_subcommand("simulate", "walk a plan's task lists with the cost model");
  command->add_option("plan", simulated->planPath, "plan file")->required();
  command->add_option("--trace", simulated->tracePath, "write a timeline for chrome://tracing or Perfetto");
  addFormat(*command, simulated->format);
  command->callback([&cli, simulated] { cli.action = [simulated] { return readPlan(*simulated, true); }; });
}

} // namespace plait
