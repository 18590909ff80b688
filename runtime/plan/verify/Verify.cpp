#include "runtime/plan/verify/Verify.h"
#include "runtime/plan/verify/Phases.h"

namespace plait {

std::vector<std::string> verifyPlan(const pb::Plan &plan) {
  Faults faults;
  verifyTables(plan, faults);
  if (faults.empty())
    verifyRoutines(plan, faults);
  RankTable table;
  if (faults.empty())
    table = makeRankTable(plan, faults);
  for (auto phase : {verifyRoles, verifyTasks, verifyState, verifyChannels})
    if (faults.empty())
      phase(plan, table, faults);
  return faults.take();
}

Status verify(const pb::Plan &plan) {
  std::vector<std::string> faults = verifyPlan(plan);
  if (faults.empty())
    faults = verifyComm(plan);
  if (faults.empty())
    return success();
  std::string text = "the plan does not verify:";
  for (const std::string &fault : faults)
    text += "\n  " + fault;
  return Error{ExitCode::CheckFailed, text};
}

} // namespace plait
