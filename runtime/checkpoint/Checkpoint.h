// Training checkpoints: a folder step-00000012 with
//   model.safetensors      parameters under Hugging Face names, in the plan's storage types
//   optimizer.safetensors  <name>.exp_avg, <name>.exp_avg_sq (f32) if the optimizer has moments, and <name>.master (f32)
//                          of all parameters if any is stored in less
//   manifest.json          step, updates, digest of the plan, files with sizes
// The folder is written under another name, synced, renamed, and gets its manifest last: a folder without one is no
// checkpoint. Any plan of the same model can load it.
#ifndef PLAIT_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define PLAIT_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/TensorSet.h"

namespace plait {

struct CheckpointInfo {
  int64_t step = 0;         ///< last committed step
  int64_t updates = 0;      ///< optimizer updates made: steps skipped by the vote are not counted
  std::string planDigest;   ///< hexadecimal; of the plan that wrote it
};

/// Suffixes of the values kept per parameter.
inline constexpr const char *kExpAvg = ".exp_avg";
inline constexpr const char *kExpAvgSq = ".exp_avg_sq";
inline constexpr const char *kMaster = ".master";

/// What a checkpoint of this plan holds: parameters first, then moments and master copies as the plan has them.
std::vector<Column> checkpointColumns(const pb::Plan &plan);
/// Index of the column with this suffix; nothing if the plan keeps no such value.
std::optional<uint32_t> columnOf(const std::vector<Column> &columns, const std::string &suffix);

/// First step, by one rank: makes the files under a temporary name, dropping an earlier unfinished attempt. Returns the
/// folder for TensorSetWriter::open on every rank.
Result<std::string> beginCheckpoint(const std::string &directory, const pb::Plan &plan, int64_t step);
/// The folder that beginCheckpoint made, for the other ranks.
std::string unfinishedCheckpoint(const std::string &directory, int64_t step);
/// Last step, by one rank, after every rank has closed its writer: syncs, renames, writes the manifest. Returns the
/// checkpoint's folder. Error Runtime.
Result<std::string> finishCheckpoint(const std::string &directory, const pb::Plan &plan, const CheckpointInfo &info);

/// Folder of the newest complete checkpoint in `directory`; empty if there is none.
std::string latestCheckpoint(const std::string &directory);
/// Reads the manifest and compares the files' sizes with it. Error Usage: no manifest, a damaged one, a file that is
/// missing or has another size.
Result<CheckpointInfo> readManifest(const std::string &folder);

} // namespace plait

#endif
