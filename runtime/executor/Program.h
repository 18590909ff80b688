// The programs of one rank, ready to run: every launch of their routines compiled once, every collective with its group.
#ifndef PLAIT_RUNTIME_EXECUTOR_PROGRAM_H
#define PLAIT_RUNTIME_EXECUTOR_PROGRAM_H

#include "runtime/executor/Arenas.h"
#include "runtime/executor/Trace.h"
#include "runtime/plan/RankSets.h"
#include <map>
#include <memory>

namespace plait {

/// One instruction of a routine, with shapes fixed and addresses relative to the slots.
struct Instruction {
  enum class Kind { Launch, Batch, Zero, Copy } kind = Kind::Launch;
  struct Address {
    uint32_t slot = 0;
    uint64_t offset = 0;
  };
  std::vector<Address> refs;              ///< Batch: in, out of each collective; Copy: from, to
  std::unique_ptr<CompiledLaunch> launch;
  std::vector<CollectiveCall> collectives; ///< in and out are filled in for each run
  TensorDesc from, to;                    ///< Copy; Zero clears `to`
  std::string_view origin;
  uint64_t bytes = 0;                     ///< payload of a batch
};

struct Routine {
  const pb::Routine *plan = nullptr;
  std::vector<Instruction> instructions;
};

class ProgramRunner {
public:
  /// Compiles the programs that tasks of `place`'s schedule name. All arguments outlive the result. Errors name routine
  /// and instruction.
  static Result<std::unique_ptr<ProgramRunner>> create(const pb::Plan &plan, const RankPlace &place, Backend &backend,
                                                       const Arenas &arenas);
  /// Runs role.programs[program] on a frame. trace may be null.
  Status run(uint32_t program, uint32_t frame, Communicator &communicator,
             Communicator::Clock::time_point deadline, Trace *trace);

private:
  ProgramRunner(const pb::Plan &plan, const RankPlace &place, Backend &backend, const Arenas &arenas)
      : plan(plan), place(place), backend(backend), arenas(arenas) {}
  Status compileRoutine(uint32_t index);
  Result<Instruction> compile(const pb::Instr &instr);
  Status compileLaunch(const pb::Launch &launch, Instruction &result);
  Status compileBatch(const pb::Batch &batch, Instruction &result);
  Status runInstruction(Instruction &instruction, Communicator &communicator,
                        Communicator::Clock::time_point deadline);

  const pb::Plan &plan;
  const RankPlace &place;
  Backend &backend;
  const Arenas &arenas;
  std::map<uint32_t, Routine> routines;  ///< by index in plan.routines
  std::map<uint32_t, CommGroup> groups;  ///< by axis
  // Reused by every instruction: nothing allocates in a step.
  std::vector<std::byte *> slotBase;
  std::vector<void *> addresses;
};

/// Shape, stride (dense where the plan gives none) and type of a ref.
TensorDesc describe(const pb::Ref &ref);

} // namespace plait

#endif
