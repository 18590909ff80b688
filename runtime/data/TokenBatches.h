// Batches of a token file: which tokens a sample of a step holds. A function of step and sample number only, so that the
// data order does not depend on the plan and a resumed run continues where it stopped.
//
// Sample i of the global batch of step n (from 1) is number k = (n - 1) * globalBatch + i of the run. Its window starts
// at (k * seqLen) mod (size - seqLen), so that windows tile the file and wrap around. Labels are the next tokens.
#ifndef PLAIT_RUNTIME_DATA_TOKENBATCHES_H
#define PLAIT_RUNTIME_DATA_TOKENBATCHES_H

#include "runtime/data/TokenFile.h"
#include "runtime/executor/BatchSource.h"

namespace plait {

struct BatchShape {
  int64_t seqLen = 0;      ///< tokens
  int64_t globalBatch = 0; ///< sequences
  int64_t vocabSize = 0;
};

class TokenBatches final : public BatchSource {
public:
  /// ignoreToken: an id whose label is -1, no target; negative: none. It may lie outside the vocabulary.
  /// Error Usage: a file shorter than seqLen + 1 tokens, or a shape that is not positive.
  static Result<TokenBatches> open(const std::string &path, const BatchShape &shape, int64_t ignoreToken = -1);

  /// As BatchSource says. Error Usage names file, position and id where an id is beyond the vocabulary.
  Status load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) override;
  Result<int64_t> countTargets(int64_t step) override;

  /// First token of sample i of a 1-based step.
  int64_t windowStart(int64_t step, int64_t sample) const;

private:
  TokenBatches(TokenFile file, const BatchShape &shape, int64_t ignoreToken)
      : file(std::move(file)), shape(shape), ignoreToken(ignoreToken) {}
  Result<int32_t> idAt(int64_t position) const;
  TokenFile file;
  BatchShape shape;
  int64_t ignoreToken;
};

} // namespace plait

#endif
