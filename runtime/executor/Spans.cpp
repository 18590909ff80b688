#include "runtime/executor/Spans.h"
#include <algorithm>

namespace plait {

namespace {

/// Spans of one box: its runs of trailing dimensions that are whole in the tensor, joined.
void appendBox(uint32_t tensor, std::span<const int64_t> shape, std::span<const int64_t> start,
               std::span<const int64_t> size, uint64_t local, std::vector<Span> &spans) {
  size_t outer = shape.size(); // dimensions [outer, rank) of the box are one run of the tensor
  uint64_t run = 1;
  while (outer > 0) {
    --outer;
    run *= uint64_t(size[outer]);
    if (size[outer] != shape[outer])
      break;
  }
  std::vector<uint64_t> stride(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    stride[d - 1] = stride[d] * uint64_t(shape[d]);
  uint64_t base = 0, rows = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    base += uint64_t(start[d]) * stride[d];
    rows *= d < outer ? uint64_t(size[d]) : 1;
  }
  for (uint64_t row = 0; row < rows && run > 0; ++row) {
    uint64_t logical = base, rest = row;
    for (size_t d = outer; d-- > 0; rest /= uint64_t(size[d]))
      logical += rest % uint64_t(size[d]) * stride[d];
    spans.push_back({tensor, logical, local + row * run, run});
  }
}

} // namespace

std::vector<Span> heldSpans(const pb::Plan &plan, const RankPlace &place) {
  std::vector<Span> spans;
  for (const pb::Residence &residence : place.role().residences()) {
    const pb::Tensor &tensor = plan.tensors(residence.tensor());
    std::vector<int64_t> start;
    for (const pb::Offset &offset : residence.start())
      start.push_back(place.evaluate(offset));
    start.resize(tensor.shape_size());
    appendBox(residence.tensor(), {tensor.shape().data(), size_t(tensor.shape_size())}, start,
              {residence.size().data(), size_t(residence.size_size())}, residence.offset(), spans);
  }
  std::sort(spans.begin(), spans.end(), [](const Span &a, const Span &b) { return a.local < b.local; });
  return spans;
}

FlatRange ownedRange(const pb::Sync &sync, uint32_t index) {
  if (!sync.sharded())
    return {0, sync.elements()};
  return {sync.cuts(int(index)), sync.cuts(int(index) + 1)};
}

std::vector<OwnedRun> ownedRuns(const pb::Plan &plan, const pb::Role &role, std::span<const uint32_t> groupIndex) {
  std::vector<OwnedRun> runs;
  for (int p = 0; p < role.sync_parts_size(); ++p) {
    const pb::SyncPart &part = role.sync_parts(p);
    const pb::Sync &sync = plan.syncs(int(part.sync()));
    // Where all members hold the sum, the first that is not silent stands for all.
    uint32_t counting = 0;
    while (std::find(sync.silent().begin(), sync.silent().end(), counting) != sync.silent().end())
      ++counting;
    const bool counted = sync.sharded() || groupIndex[p] == counting;
    const FlatRange owned = ownedRange(sync, groupIndex[p]);
    forEachRow(part, owned.begin, owned.end, [&](const PieceRow &row) {
      runs.push_back({uint32_t(p), row.local, row.flat - owned.begin, row.count, row.decay, counted});
    });
  }
  std::sort(runs.begin(), runs.end(), [](const OwnedRun &a, const OwnedRun &b) { return a.local < b.local; });
  return runs;
}

std::vector<OwnedSpan> intersect(std::span<const Span> spans, std::span<const OwnedRun> runs) {
  std::vector<OwnedSpan> result;
  size_t firstRun = 0;
  for (const Span &span : spans) {
    while (firstRun < runs.size() && runs[firstRun].local + runs[firstRun].count <= span.local)
      ++firstRun;
    for (size_t r = firstRun; r < runs.size() && runs[r].local < span.local + span.count; ++r) {
      const uint64_t from = std::max(span.local, runs[r].local);
      const uint64_t to = std::min(span.local + span.count, runs[r].local + runs[r].count);
      result.push_back({{span.tensor, span.logical + (from - span.local), from, to - from},
                        uint32_t(r),
                        runs[r].state + (from - runs[r].local)});
    }
  }
  return result;
}

} // namespace plait
