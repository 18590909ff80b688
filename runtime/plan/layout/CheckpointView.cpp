#include "runtime/plan/layout/CheckpointView.h"
#include <algorithm>
#include <numeric>

namespace plait {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 62;

/// Product of positive extents; nothing if one is not positive or the product is too large.
template <typename Range> std::optional<int64_t> productOf(const Range &extents) {
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (extent <= 0 || product > kMaxElements / extent)
      return std::nullopt;
    product *= extent;
  }
  return product;
}

std::string toText(const std::vector<int64_t> &extents) {
  std::string text = "[";
  for (size_t k = 0; k < extents.size(); ++k) {
    if (k)
      text += ", ";
    text += std::to_string(extents[k]);
  }
  return text + "]";
}

/// Offset of the last element of the view; nothing if a stride is negative or the offset too large.
std::optional<int64_t> lastOffset(int64_t base, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) {
  int64_t last = base;
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (strides[k] < 0 || (sizes[k] > 1 && strides[k] > (kMaxElements - last) / (sizes[k] - 1)))
      return std::nullopt;
    last += (sizes[k] - 1) * strides[k];
  }
  return last;
}

/// True if no two indices give one offset: sorted by stride, each stride exceeds the span of the smaller ones.
bool isInjective(const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t span = 0;
  for (size_t k : order) {
    if (sizes[k] == 1)
      continue;
    if (strides[k] <= span)
      return false;
    span += (sizes[k] - 1) * strides[k];
  }
  return true;
}

} // namespace

Result<CheckpointView> CheckpointView::of(const pb::Tensor &tensor) {
  auto fail = [&](const std::string &what) { return usageError("tensor '" + tensor.name() + "': " + what); };
  CheckpointView view;
  view.logicalShape.assign(tensor.shape().begin(), tensor.shape().end());
  view.storedShape.assign(tensor.hf_shape().begin(), tensor.hf_shape().end());
  if (view.storedShape.empty() && tensor.hf_sizes().empty())
    view.storedShape = view.logicalShape;
  std::optional<int64_t> elements = productOf(view.logicalShape), stored = productOf(view.storedShape);
  if (!elements || !stored)
    return fail("shape " + toText(elements ? view.storedShape : view.logicalShape) + " is not possible");

  std::vector<int64_t> sizes(tensor.hf_sizes().begin(), tensor.hf_sizes().end());
  std::vector<int64_t> strides(tensor.hf_strides().begin(), tensor.hf_strides().end());
  if (sizes.empty()) {
    sizes = {*elements};
    strides = {1};
  }
  std::optional<int64_t> viewed = productOf(sizes);
  if (sizes.size() != strides.size() || viewed != elements)
    return fail("checkpoint sizes " + toText(sizes) + " with " + std::to_string(strides.size()) +
                " strides do not factor shape " + toText(view.logicalShape));
  view.base = tensor.hf_base();
  std::optional<int64_t> last = view.base < 0 || view.base >= *stored ? std::nullopt : lastOffset(view.base, sizes, strides);
  if (!last || *last >= *stored)
    return fail("its view leaves checkpoint tensor '" + tensor.hf_name() + "' of shape " + toText(view.storedShape));
  if (!isInjective(sizes, strides))
    return fail("checkpoint strides " + toText(strides) + " address an element twice");

  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] == 1)
      continue;
    if (!view.sizes.empty() && view.strides.back() == strides[k] * sizes[k]) {
      view.sizes.back() *= sizes[k];
      view.strides.back() = strides[k];
    } else {
      view.sizes.push_back(sizes[k]);
      view.strides.push_back(strides[k]);
    }
  }
  if (view.sizes.empty()) {
    view.sizes = {1};
    view.strides = {1};
  }
  return view;
}

int64_t CheckpointView::fileElements() const { return wholeBox(storedShape).elements(); }

void CheckpointView::forEachRun(int64_t first, int64_t count, const std::function<void(const ViewRun &)> &visit) const {
  for (int64_t done = 0; done < count;) {
    int64_t flat = first + done, offset = base, index = flat;
    for (size_t k = sizes.size(); k-- > 0; index /= sizes[k])
      offset += index % sizes[k] * strides[k];
    int64_t run = std::min(count - done, sizes.back() - flat % sizes.back());
    visit({offset, strides.back(), done, run});
    done += run;
  }
}

void CheckpointView::forEachRun(const Box &box, const std::function<void(const ViewRun &)> &visit) const {
  int64_t boxOffset = 0;
  for (const StridedPiece &piece : stridedPieces(wholeBox(logicalShape), box))
    for (int64_t row = 0; row < piece.rows; ++row, boxOffset += piece.rowElements)
      forEachRun(piece.offset + row * piece.rowStride, piece.rowElements, [&](ViewRun run) {
        run.boxOffset += boxOffset;
        visit(run);
      });
}

} // namespace plait
