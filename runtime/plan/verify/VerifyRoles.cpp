#include "runtime/plan/DType.h"
#include "runtime/plan/verify/Phases.h"
#include <algorithm>
#include <set>

namespace plait {

uint64_t spaceBytes(const pb::Role &role, pb::Space space) {
  constexpr uint64_t kControlBytes = 128; // what every executor has, whatever the plan says
  uint64_t bytes = space < role.space_bytes_size() ? role.space_bytes(space) : 0;
  return space == pb::SPACE_CONTROL ? std::max(bytes, kControlBytes) : bytes;
}

namespace {

/// True if [offset, offset + bytes) lies in `room` bytes.
bool fits(uint64_t offset, uint64_t bytes, uint64_t room) { return offset <= room && bytes <= room - offset; }

std::string rangeText(uint64_t offset, uint64_t bytes) {
  return std::to_string(bytes) + " bytes at " + std::to_string(offset);
}

class RoleVerifier {
public:
  /// kinds: the places of the ranks that have this role.
  RoleVerifier(const pb::Plan &plan, uint32_t index, std::vector<const RankPlace *> kinds, Faults &faults)
      : plan(plan), role(plan.roles(static_cast<int>(index))), kinds(std::move(kinds)), faults(faults),
        place(placeOf("role", index, role.name())) {}

  void verify() {
    if (role.space_bytes_size() > pb::Space_ARRAYSIZE)
      faults.add(place, std::to_string(role.space_bytes_size()) + " spaces; there are " +
                            std::to_string(pb::Space_ARRAYSIZE));
    verifyFrames();
    verifyPorts();
    for (uint32_t program : role.programs())
      if (faults.checkIndex(place, "program", program, plan.programs_size()))
        verifyProgram(plan.programs(static_cast<int>(program)));
  }

private:
  void verifyFrames() {
    uint64_t room = spaceBytes(role, pb::SPACE_FRAME);
    unsigned __int128 total = 0;
    auto tokens = static_cast<unsigned __int128>(plan.job().seq_len()) * plan.job().micro_batch() * 4;
    for (const pb::FrameClass &frames : role.frames()) {
      total += static_cast<unsigned __int128>(frames.bytes()) * frames.count();
      for (auto [has, offset] : {std::pair(frames.has_tokens(), frames.tokens_offset()),
                                 std::pair(frames.has_labels(), frames.labels_offset())})
        if (has && (offset > frames.bytes() || tokens > frames.bytes() - offset || offset % 4))
          faults.add(place, "token ids or labels at " + std::to_string(offset) + " leave a frame of " +
                                std::to_string(frames.bytes()) + " bytes");
    }
    if (total > room)
      faults.add(place, "its frames do not fit the frame arena of " + std::to_string(room) + " bytes");
  }

  void verifyPorts() {
    for (int i = 0; i < role.ports_size(); ++i) {
      const pb::Port &port = role.ports(i);
      std::string at = place + ", " + placeOf("port", i, port.name());
      if (!pb::Space_IsValid(port.space()) || port.space() == pb::SPACE_NONE) {
        faults.add(at, "it has no space");
        continue;
      }
      bool inFrame = port.space() == pb::SPACE_FRAME;
      uint64_t room = !inFrame ? spaceBytes(role, port.space()) : role.frames_size() ? role.frames(0).bytes() : 0;
      if (!fits(port.offset(), port.bytes(), room))
        faults.add(at, rangeText(port.offset(), port.bytes()) + " leave its space of " + std::to_string(room) + " bytes");
    }
  }

  void verifyProgram(const pb::Program &program) {
    bool hasFrames = program.frame_class() < uint32_t(role.frames_size());
    for (int c = 0; c < program.calls_size(); ++c) {
      const pb::Call &call = program.calls(c);
      const pb::Routine &routine = plan.routines(static_cast<int>(call.routine()));
      std::string at = place + ", program '" + program.name() + "', call " + std::to_string(c) + " of '" +
                       routine.name() + "'";
      for (int s = 0; s < routine.slots_size(); ++s) {
        const pb::Slot &slot = routine.slots(s);
        bool inFrame = slot.space() == pb::SPACE_FRAME;
        if (inFrame && !hasFrames && slot.bytes()) {
          faults.add(at, "frame class " + std::to_string(program.frame_class()) + " does not exist");
          return;
        }
        uint64_t room = inFrame ? hasFrames ? role.frames(int(program.frame_class())).bytes() : 0
                                : spaceBytes(role, slot.space());
        if (!fits(call.bind(s), slot.bytes(), room))
          faults.add(at, placeOf("slot", s, slot.name()) + " of " + rangeText(call.bind(s), slot.bytes()) +
                             " leaves " + pb::Space_Name(slot.space()) + " of " + std::to_string(room) + " bytes");
      }
      if (checkedRoutines.insert(call.routine()).second)
        for (const pb::Instr &instr : routine.instrs())
          for (const pb::Collective &collective : instr.batch().collectives())
            verifyCollective(at + ", " + instr.origin(), collective);
    }
  }

  void verifyCollective(const std::string &at, const pb::Collective &collective) {
    if (!faults.checkIndex(at, "axis", collective.axis(), role.axis_families_size()))
      return;
    uint64_t members = sizeOf(plan.families(int(role.axis_families(int(collective.axis())))).members());
    uint64_t in = extentOf(collective.in())->elements, out = extentOf(collective.out())->elements;
    if (collective.root() >= members)
      faults.add(at, "root " + std::to_string(collective.root()) + " of " + std::to_string(members) + " members");
    bool scatters = collective.kind() == pb::COLLECTIVE_REDUCE_SCATTER,
         gathers = collective.kind() == pb::COLLECTIVE_ALL_GATHER;
    if (!scatters && !gathers) {
      if (in != out)
        faults.add(at, "its operands have " + std::to_string(in) + " and " + std::to_string(out) + " elements");
      return;
    }
    uint64_t whole = scatters ? in : out, part = scatters ? out : in;
    if (!countsFit(collective, members, whole))
      return faults.add(at, "its counts do not divide " + std::to_string(whole) + " elements among " +
                                std::to_string(members) + " members");
    for (const RankPlace *kind : kinds) {
      uint32_t coordinate = kind->coordinates()[collective.axis()];
      uint64_t own = collective.counts_size() ? collective.counts(int(coordinate)) : whole / members;
      if (own != part)
        faults.add(at, "rank " + std::to_string(kind->rank()) + " has a part of " + std::to_string(part) +
                           " elements, member " + std::to_string(coordinate) + " needs " + std::to_string(own));
    }
  }

  static bool countsFit(const pb::Collective &collective, uint64_t members, uint64_t whole) {
    if (!collective.counts_size())
      return whole % members == 0;
    uint64_t rest = whole;
    for (int64_t count : collective.counts()) {
      if (count < 0 || uint64_t(count) > rest)
        return false;
      rest -= count;
    }
    return rest == 0 && uint64_t(collective.counts_size()) == members;
  }

  const pb::Plan &plan;
  const pb::Role &role;
  std::vector<const RankPlace *> kinds;
  Faults &faults;
  std::string place;
  std::set<uint32_t> checkedRoutines;
};

} // namespace

void verifyRoles(const pb::Plan &plan, const RankTable &table, Faults &faults) {
  for (uint32_t index = 0; index < uint32_t(plan.roles_size()); ++index) {
    std::vector<const RankPlace *> kinds;
    for (const RankPlace &kind : table.kinds)
      if (kind.roleIndex() == index)
        kinds.push_back(&kind);
    RoleVerifier(plan, index, std::move(kinds), faults).verify();
  }
}

} // namespace plait
