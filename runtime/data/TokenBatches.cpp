#include "runtime/data/TokenBatches.h"

namespace plait {

Result<TokenBatches> TokenBatches::open(const std::string &path, const BatchShape &shape, int64_t ignoreToken) {
  if (shape.seqLen < 1 || shape.globalBatch < 1 || shape.vocabSize < 1 || shape.vocabSize > INT32_MAX)
    return usageError(path + ": sequence length " + std::to_string(shape.seqLen) + ", global batch " +
                      std::to_string(shape.globalBatch) + " and vocabulary " + std::to_string(shape.vocabSize) +
                      " must be positive");
  Result<TokenFile> file = TokenFile::open(path);
  if (!file)
    return file.error();
  if (file->size() - 1 < shape.seqLen)
    return usageError(path + ": " + std::to_string(file->size()) + " tokens are too few for sequence length " +
                      std::to_string(shape.seqLen) + ", which needs at least " + std::to_string(shape.seqLen + 1));
  return TokenBatches(std::move(*file), shape, ignoreToken);
}

int64_t TokenBatches::windowStart(int64_t step, int64_t sample) const {
  // 128 bits: a long run of long sequences exceeds 63.
  auto number = static_cast<unsigned __int128>(step - 1) * shape.globalBatch + sample;
  return static_cast<int64_t>(number * shape.seqLen % (file.size() - shape.seqLen));
}

Result<int32_t> TokenBatches::idAt(int64_t position) const {
  uint32_t id = file.at(position);
  bool isKnown = id < shape.vocabSize || (id == ignoreToken && id <= INT32_MAX);
  if (!isKnown)
    return usageError(file.path() + ": id " + std::to_string(id) + " at position " + std::to_string(position) +
                      " is beyond the vocabulary of " + std::to_string(shape.vocabSize));
  return static_cast<int32_t>(id);
}

Status TokenBatches::load(int64_t step, int64_t firstSample, int64_t samples, int32_t *tokens, int32_t *labels) {
  for (int64_t sample = 0; sample < samples; ++sample) {
    int64_t start = windowStart(step, firstSample + sample);
    for (int64_t position = 0; position <= shape.seqLen; ++position) {
      Result<int32_t> id = idAt(start + position);
      if (!id)
        return id.error();
      if (tokens && position < shape.seqLen)
        tokens[position * samples + sample] = *id;
      if (labels && position > 0)
        labels[(position - 1) * samples + sample] = *id == ignoreToken ? -1 : *id;
    }
  }
  return success();
}

Result<int64_t> TokenBatches::countTargets(int64_t step) {
  int64_t targets = shape.globalBatch * shape.seqLen;
  if (ignoreToken < 0)
    return targets;
  for (int64_t sample = 0; sample < shape.globalBatch; ++sample) {
    int64_t start = windowStart(step, sample);
    for (int64_t position = 1; position <= shape.seqLen; ++position)
      targets -= file.at(start + position) == ignoreToken;
  }
  return targets;
}

} // namespace plait
