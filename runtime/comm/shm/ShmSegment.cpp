#include "runtime/comm/shm/ShmSegment.h"
#include "runtime/comm/shm/Futex.h"
#include "runtime/comm/shm/ShmLayout.h"
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plait {

static constexpr uint64_t kMagic = 0x31304d4853544c50; // "PLTSHM01"
static constexpr uint64_t kPageBytes = 4096;
static constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 40;

static uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

ShmSegment::Offsets::Offsets(const ShmHeader &header) {
  uint64_t ranksOfWorld = header.worldSize, pairs = ranksOfWorld * ranksOfWorld;
  abort = roundUp(sizeof(ShmHeader), 64);
  ranks = abort + sizeof(ShmAbort);
  groups = ranks + ranksOfWorld * sizeof(ShmRankLine);
  receiving = groups + ranksOfWorld * header.groupsPerRank * sizeof(ShmGroupLine);
  sending = receiving + pairs * sizeof(ShmPairLine);
  arenas = roundUp(sending + pairs * sizeof(ShmPairLine), kPageBytes);
  windows = arenas + ranksOfWorld * header.arenaBytes;
  end = windows + ranksOfWorld * header.windowBytes;
}

ShmSegment::ShmSegment(int descriptor, char *base, const ShmHeader &header)
    : descriptor(descriptor), base(base), world(header.worldSize), arenaSize(header.arenaBytes),
      windowSize(header.windowBytes), offsets(header) {}

static Error unavailable(const std::string &what) {
  return {ExitCode::Unavailable, "shared memory: " + what + ": " + std::strerror(errno)};
}

static char *mapShared(int fd, uint64_t bytes) {
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<char *>(base);
}

static bool saneHeader(const ShmHeader &header) {
  return header.magic == kMagic && header.worldSize >= 1 && header.worldSize <= ShmSegment::kMaxWorldSize &&
         header.groupsPerRank == ShmSegment::kGroupsPerRank && header.arenaBytes <= kMaxArenaBytes &&
         header.windowBytes >= 64 && header.windowBytes % 64 == 0 && header.windowBytes <= kMaxArenaBytes;
}

Result<std::unique_ptr<ShmSegment>> ShmSegment::create(uint32_t worldSize, uint64_t arenaBytesPerRank,
                                                       uint64_t windowBytesPerRank) {
  if (arenaBytesPerRank > kMaxArenaBytes)
    return usageError("shared memory: an arena of " + std::to_string(arenaBytesPerRank) + " bytes exceeds 1 TiB");
  ShmHeader header{kMagic, worldSize, kGroupsPerRank, roundUp(arenaBytesPerRank, kPageBytes), windowBytesPerRank};
  if (!saneHeader(header))
    return usageError("shared memory: a world of " + std::to_string(worldSize) + " ranks with windows of " +
                      std::to_string(windowBytesPerRank) + " bytes; 1 to " + std::to_string(kMaxWorldSize) +
                      " ranks and windows that are a multiple of 64 bytes work");
  uint64_t bytes = Offsets(header).end;
  int fd = memfd_create("plait", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0)
    return unavailable("cannot create it");
  // The size is sealed, so that no holder can take the memory away under the others.
  char *base = nullptr;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 || !(base = mapShared(fd, bytes))) {
    Error error = unavailable("cannot map " + std::to_string(bytes) + " bytes for " + std::to_string(worldSize) +
                              " ranks");
    close(fd);
    return error;
  }
  std::memcpy(base, &header, sizeof header);
  return std::unique_ptr<ShmSegment>(new ShmSegment(fd, base, header));
}

Result<std::unique_ptr<ShmSegment>> ShmSegment::attach(int fd) {
  Error notOurs = usageError("shared memory: descriptor " + std::to_string(fd) +
                             " does not hold a segment of this version");
  struct stat status;
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &status) != 0 ||
      status.st_size < static_cast<off_t>(sizeof(ShmHeader)))
    return notOurs;
  uint64_t bytes = static_cast<uint64_t>(status.st_size);
  ShmHeader header;
  if (pread(fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) || !saneHeader(header) ||
      Offsets(header).end != bytes)
    return notOurs;
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0)
    return unavailable("cannot duplicate the descriptor");
  char *base = mapShared(own, bytes);
  if (!base) {
    Error error = unavailable("cannot map " + std::to_string(bytes) + " bytes");
    close(own);
    return error;
  }
  return std::unique_ptr<ShmSegment>(new ShmSegment(own, base, header));
}

ShmSegment::~ShmSegment() {
  munmap(base, offsets.end);
  close(descriptor);
}

ShmAbort &ShmSegment::abortBlock() const { return *reinterpret_cast<ShmAbort *>(at(offsets.abort)); }
void *ShmSegment::arena(uint32_t rank) const { return at(offsets.arenas + rank * arenaSize); }
uint64_t ShmSegment::windowOffset(uint32_t rank) const { return offsets.windows + rank * windowSize; }

ShmRankLine &ShmSegment::rankLine(uint32_t rank) const {
  return reinterpret_cast<ShmRankLine *>(at(offsets.ranks))[rank];
}

ShmGroupLine *ShmSegment::groupLines(uint32_t rank) const {
  return reinterpret_cast<ShmGroupLine *>(at(offsets.groups)) + uint64_t{rank} * kGroupsPerRank;
}

ShmPairLine &ShmSegment::receiving(uint32_t rank, uint32_t from) const {
  return reinterpret_cast<ShmPairLine *>(at(offsets.receiving))[uint64_t{rank} * world + from];
}

ShmPairLine &ShmSegment::sending(uint32_t rank, uint32_t to) const {
  return reinterpret_cast<ShmPairLine *>(at(offsets.sending))[uint64_t{rank} * world + to];
}

uint64_t ShmSegment::offsetOf(const void *data, uint64_t size) const {
  if (size == 0)
    return 0;
  uintptr_t begin = reinterpret_cast<uintptr_t>(data), mine = reinterpret_cast<uintptr_t>(base);
  if (begin < mine || begin - mine > offsets.end || size > offsets.end - (begin - mine))
    return kPrivate;
  return begin - mine;
}

void ShmSegment::ring(uint32_t rank) {
  ShmRankLine &line = rankLine(rank);
  line.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (line.sleepers.load(std::memory_order_seq_cst))
    futexWakeAll(line.doorbell);
}

static void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Short waits stay out of the kernel; longer ones give the processor to the ranks that are awaited.
bool ShmSegment::waitForBell(uint32_t rank, uint32_t seen, Clock::time_point until) {
  constexpr int kPauses = 20, kYields = 100;
  constexpr auto kYielding = std::chrono::microseconds(50); // on a busy machine one yield may cost a time slice
  const Clock::time_point begin = Clock::now();
  ShmRankLine &line = rankLine(rank);
  auto rung = [&] { return line.doorbell.load(std::memory_order_seq_cst) != seen; };
  for (int i = 0; i < kPauses + kYields; ++i) {
    if (rung())
      return true;
    if (i < kPauses)
      pauseBriefly();
    else if (Clock::now() - begin < kYielding)
      sched_yield();
    else
      break;
  }
  // Announced before the last look at the bell: ring() reads `sleepers` after it changed the bell.
  line.sleepers.fetch_add(1, std::memory_order_seq_cst);
  bool awake = rung();
  while (!awake && Clock::now() < until) {
    futexWait(line.doorbell, seen, until);
    awake = rung();
  }
  line.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  return awake;
}

bool ShmSegment::abort(uint32_t byRank, std::string_view cause) {
  ShmAbort &block = abortBlock();
  uint32_t running = 0;
  if (!block.state.compare_exchange_strong(running, 1, std::memory_order_seq_cst))
    return false;
  block.rank.store(byRank, std::memory_order_relaxed);
  block.cause.store(cause);
  block.state.store(2, std::memory_order_seq_cst);
  for (uint32_t rank = 0; rank < world; ++rank) {
    ShmRankLine &line = rankLine(rank);
    line.doorbell.fetch_add(1, std::memory_order_seq_cst);
    futexWakeAll(line.doorbell);
  }
  return true;
}

bool ShmSegment::aborted() const { return abortBlock().state.load(std::memory_order_seq_cst) != 0; }

std::string ShmSegment::abortText() const {
  ShmAbort &block = abortBlock();
  // Whoever aborts may be killed or stopped before its cause is written: do not wait for it long.
  auto patience = Clock::now() + std::chrono::milliseconds(50);
  while (block.state.load(std::memory_order_seq_cst) == 1 && Clock::now() < patience)
    sched_yield();
  uint32_t state = block.state.load(std::memory_order_seq_cst);
  if (state == 0)
    return "";
  if (state == 1)
    return "aborted; the rank that did it ended before it could say why";
  uint32_t rank = block.rank.load(std::memory_order_relaxed);
  return (rank == kLauncher ? "aborted by the launcher: " : "aborted by rank " + std::to_string(rank) + ": ") +
         block.cause.load();
}

void ShmSegment::reportTask(uint32_t rank, std::string_view task) {
  ShmRankLine &line = rankLine(rank);
  line.task.store(task);
  line.progress.fetch_add(1, std::memory_order_release);
}

uint64_t ShmSegment::progress(uint32_t rank) const {
  return rankLine(rank).progress.load(std::memory_order_acquire);
}

std::string ShmSegment::lastTask(uint32_t rank) const { return rankLine(rank).task.load(); }
std::string ShmSegment::waitingIn(uint32_t rank) const { return rankLine(rank).waiting.load(); }

} // namespace plait
