// compileTransfer: from one layout of a tensor to another. It decides who sends which box to whom so that every box of
// the target is filled. Gradient synchronisation, stage boundaries of unlike tensor parallelism, shared KV heads,
// checkpoints on another layout and recovery are all such transfers.
//
// One hop: data travel from a rank that holds them at the start, nobody forwards, so that a transfer is one batch.
// For each target box (and each addend) the messages minimise, in this order: those that cross a slow domain, their
// number, their bytes; over all ways to divide the box by repeated straight cuts (boxes with more than 64 cells between
// source boundaries are first halved). An equal choice goes to the source that has sent the fewest elements so far, then
// to the lowest rank.
#ifndef PLAIT_RUNTIME_PLAN_LAYOUT_TRANSFER_H
#define PLAIT_RUNTIME_PLAN_LAYOUT_TRANSFER_H

#include "runtime/plan/layout/Layout.h"
#include <functional>

namespace plait {

/// One box from one rank to another; a copy in place of a message if the ranks are equal.
struct Message {
  uint32_t from = 0, to = 0;               ///< ranks
  Box box;                                 ///< of the logical tensor
  uint32_t fromResidence = 0, toResidence = 0; ///< indices into the residences given
  bool add = false;                        ///< sources are pending: add to the target, which starts at zero
  bool isLocal() const { return from == to; }
  bool operator==(const Message &) const = default;
};

/// Domain of a rank: traffic inside a domain is cheap.
using DomainOf = std::function<uint32_t(uint32_t rank)>;

/// Messages ordered by target residence, then addend (by its lowest rank), then start of the box; executed in this order
/// they sum in rank order. The messages between two ranks match by this order.
/// Errors (Internal): a box outside the shape, a target element that no source holds, pending targets, sources of which
/// some are pending and some are not.
Result<std::vector<Message>> compileTransfer(const std::vector<int64_t> &shape, const std::vector<Residence> &from,
                                             const std::vector<Residence> &to, const DomainOf &domainOf);

/// What a list of messages costs; local copies cost nothing.
struct TransferCost {
  int64_t crossings = 0, messages = 0, elements = 0;
  auto operator<=>(const TransferCost &) const = default;
};
TransferCost costOf(const std::vector<Message> &messages, const DomainOf &domainOf);

} // namespace plait

#endif
