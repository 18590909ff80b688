// Checkpoints: many writers, other readers, exact bytes, and every refusal.
#include "TestPlans.h"
#include <catch2/catch.hpp>
#include <random>
#include <thread>

using namespace plait;
using namespace plait::test;
namespace fs = std::filesystem;

namespace {

struct Range {
  uint32_t tensor;
  int64_t first, count;
};

/// All elements of the plan cut at random and dealt to ranks.
std::vector<std::vector<Range>> deal(const pb::Plan &plan, uint32_t ranks, std::mt19937 &random) {
  std::vector<std::vector<Range>> owned(ranks);
  for (uint32_t tensor = 0; tensor < uint32_t(plan.tensors_size()); ++tensor)
    for (int64_t first = 0, all = elementsOf(plan.tensors(tensor)); first < all;) {
      int64_t count = std::min<int64_t>(1 + random() % (all / 2 + 1), all - first);
      owned[random() % ranks].push_back({tensor, first, count});
      first += count;
    }
  return owned;
}

void writeAs(const std::string &folder, const pb::Plan &plan, const std::vector<Column> &columns,
             const std::vector<Range> &owned, std::string &error) {
  Result<TensorSetWriter> writer = TensorSetWriter::open(folder, plan, columns);
  Status status = writer ? success() : Status(writer.error());
  for (uint32_t column = 0; status && column < columns.size(); ++column)
    for (const Range &range : owned) {
      std::vector<float> values(range.count);
      for (int64_t i = 0; i < range.count; ++i)
        values[i] = valueOf(column, range.tensor, range.first + i);
      if (status)
        status = writer->write(column, range.tensor, range.first, values);
    }
  if (status)
    status = writer->close();
  if (!status)
    error = status.error().message;
}

/// One thread per rank, as the workers of one host.
void writeAll(const std::string &folder, const pb::Plan &plan, const std::vector<Column> &columns, uint32_t ranks,
              unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<Range>> owned = deal(plan, ranks, random);
  std::vector<std::string> errors(ranks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { writeAs(folder, plan, columns, owned[rank], errors[rank]); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &error : errors)
    REQUIRE(error == "");
}

std::string write(const std::string &directory, const pb::Plan &plan, const CheckpointInfo &info, unsigned seed = 1) {
  Result<std::string> folder = beginCheckpoint(directory, plan, info.step);
  REQUIRE(folder);
  REQUIRE(*folder == unfinishedCheckpoint(directory, info.step));
  writeAll(*folder, plan, checkpointColumns(plan), 4, seed);
  Result<std::string> finished = finishCheckpoint(directory, plan, info);
  REQUIRE(finished);
  return *finished;
}

std::string messageOf(const Status &status) { return status ? "" : status.error().message; }

} // namespace

TEST_CASE("every element lands where the view says") {
  Folder folder("plait_checkpoint_views");
  pb::Plan plan = viewPlan();
  std::string checkpoint = write(folder.path.string(), plan, {3, 2, "abc"});
  std::vector<Column> columns = checkpointColumns(plan);
  REQUIRE(columns.size() == 3);
  for (uint32_t column = 0; column < columns.size(); ++column) {
    Result<SafetensorsFile> file = SafetensorsFile::open(checkpoint + "/" + columns[column].file);
    REQUIRE(file);
    for (uint32_t t = 0; t < uint32_t(plan.tensors_size()); ++t) {
      const pb::Tensor &tensor = plan.tensors(t);
      const StoredTensor &stored = file->tensors().at(checkpointName(tensor) + columns[column].suffix);
      bool allEqual = true;
      for (int64_t element = 0; element < elementsOf(tensor); ++element) {
        int64_t offset = tensor.hf_base(), rest = element;
        for (int k = tensor.hf_sizes_size() - 1; k >= 0; rest /= tensor.hf_sizes(k), --k)
          offset += rest % tensor.hf_sizes(k) * tensor.hf_strides(k);
        allEqual &= file->element(stored, tensor.hf_sizes_size() ? offset : element) == valueOf(column, t, element);
      }
      REQUIRE(allEqual);
    }
  }
}

TEST_CASE("any range and any box can be read back") {
  Folder folder("plait_checkpoint_read");
  pb::Plan plan = viewPlan();
  std::string checkpoint = write(folder.path.string(), plan, {3, 2, "abc"}, 2);
  Result<TensorSetReader> reader = TensorSetReader::open(checkpoint, plan);
  REQUIRE(reader);
  std::mt19937 random(5);
  std::vector<std::string> suffixes{"", kExpAvg, kExpAvgSq};
  for (uint32_t column = 0; column < 3; ++column)
    for (const std::vector<Range> &owned : deal(plan, 3, random))
      for (const Range &range : owned) {
        std::vector<float> values(range.count), expected(range.count);
        for (int64_t i = 0; i < range.count; ++i)
          expected[i] = valueOf(column, range.tensor, range.first + i);
        REQUIRE(reader->read(suffixes[column], range.tensor, range.first, values));
        REQUIRE(values == expected);
      }
  std::vector<float> box(2 * 3);
  REQUIRE(reader->readBox("", 2, {{4, 1}, {2, 3}}, box));
  REQUIRE(box == std::vector<float>{valueOf(0, 2, 25), valueOf(0, 2, 26), valueOf(0, 2, 27), valueOf(0, 2, 31),
                                    valueOf(0, 2, 32), valueOf(0, 2, 33)});
  REQUIRE(reader->has(kExpAvg));
  REQUIRE_FALSE(reader->has(kMaster));
  REQUIRE(reader->check(""));
}

TEST_CASE("how the elements were dealt leaves no trace in the bytes") {
  Folder a("plait_checkpoint_a"), b("plait_checkpoint_b");
  pb::Plan plan = viewPlan();
  std::string first = write(a.path.string(), plan, {1, 1, "x"}, 10), second = write(b.path.string(), plan, {1, 1, "x"}, 11);
  for (const char *file : {"model.safetensors", "optimizer.safetensors", "manifest.json"})
    REQUIRE(*readFile(first + "/" + file, 1 << 24) == *readFile(second + "/" + file, 1 << 24));
}

TEST_CASE("bf16 parameters are rounded and keep an exact master copy") {
  Folder folder("plait_checkpoint_bf16");
  pb::Plan plan = viewPlan();
  for (pb::Tensor &tensor : *plan.mutable_tensors())
    tensor.set_dtype(pb::DTYPE_BF16);
  std::vector<Column> columns = checkpointColumns(plan);
  uint32_t master = *columnOf(columns, kMaster);
  REQUIRE(master == 3);
  REQUIRE_FALSE(columnOf(columns, ".grad"));
  std::string checkpoint = write(folder.path.string(), plan, {1, 1, "x"});
  Result<TensorSetReader> reader = TensorSetReader::open(checkpoint, plan);
  std::vector<float> rounded(78), exact(78);
  REQUIRE(reader->read("", 0, 0, rounded));
  REQUIRE(reader->read(kMaster, 0, 0, exact));
  for (int64_t i = 0; i < 78; ++i) {
    REQUIRE(exact[i] == valueOf(master, 0, i));
    REQUIRE(std::abs(rounded[i] - valueOf(0, 0, i)) <= valueOf(0, 0, i) / 256);
  }
  plan.mutable_job()->set_optimizer("sgd");
  REQUIRE(checkpointColumns(plan).size() == 2);
}

TEST_CASE("only finished checkpoints count, the newest first") {
  Folder folder("plait_checkpoint_latest");
  std::string directory = folder.path.string();
  pb::Plan plan = viewPlan();
  REQUIRE(latestCheckpoint(directory) == "");
  REQUIRE(latestCheckpoint(directory + "/absent") == "");
  write(directory, plan, {9, 9, "d"});
  write(directory, plan, {10, 9, "d"});
  REQUIRE(latestCheckpoint(directory) == directory + "/step-00000010");
  REQUIRE(beginCheckpoint(directory, plan, 11));
  fs::create_directories(directory + "/step-00000012");
  REQUIRE(latestCheckpoint(directory) == directory + "/step-00000010");
  write(directory, plan, {11, 10, "e"}); // replaces what was left unfinished
  REQUIRE(latestCheckpoint(directory) == directory + "/step-00000011");
  write(directory, plan, {11, 8, "f"});  // the same step again
  write(directory, plan, {123456789, 8, "f"});
  REQUIRE(latestCheckpoint(directory) == directory + "/step-123456789");
  Result<CheckpointInfo> info = readManifest(directory + "/step-00000011");
  REQUIRE(info);
  REQUIRE(info->step == 11);
  REQUIRE(info->updates == 8);
  REQUIRE(info->planDigest == "f");
}

TEST_CASE("damaged checkpoints are refused by text") {
  Folder folder("plait_checkpoint_damaged");
  pb::Plan plan = viewPlan();
  std::string checkpoint = write(folder.path.string(), plan, {1, 1, "x"}), manifest = checkpoint + "/manifest.json";
  REQUIRE(readManifest(checkpoint));
  fs::resize_file(checkpoint + "/model.safetensors", 100);
  REQUIRE(readManifest(checkpoint).error().message.find(
              checkpoint + "/model.safetensors: it has 100 bytes, the manifest says ") == 0);
  REQUIRE(TensorSetReader::open(checkpoint, plan).error().message.find("no safetensors file, or a truncated one") !=
          std::string::npos);
  fs::remove(checkpoint + "/model.safetensors");
  REQUIRE(readManifest(checkpoint).error().message.find("the manifest names this file: ") != std::string::npos);
  std::ofstream(manifest) << R"({"format":2,"step":1,"updates":1,"plan_digest":"","files":[]})";
  REQUIRE(readManifest(checkpoint).error().message == manifest + ": checkpoint format 2, this build reads format 1");
  std::ofstream(manifest) << R"({"format":1,"step":1,"updates":1,"plan_digest":"","files":[3]})";
  REQUIRE(readManifest(checkpoint).error().message == manifest + ": an entry of \"files\" needs \"name\" and \"bytes\"");
  std::ofstream(manifest) << "{";
  REQUIRE(readManifest(checkpoint).error().message ==
          manifest + ": it needs \"format\", \"step\", \"updates\", \"plan_digest\" and \"files\"");
  fs::remove(manifest);
  REQUIRE(readManifest(checkpoint).error().message ==
          manifest + ": cannot open: No such file or directory; a folder without a manifest is no complete checkpoint");
}

TEST_CASE("checkpoints of another model are refused by text") {
  Folder folder("plait_checkpoint_other");
  pb::Plan plan = viewPlan(), other = viewPlan();
  std::string checkpoint = write(folder.path.string(), plan, {1, 1, "x"}), model = checkpoint + "/model.safetensors";
  addTensor(other, "m.embbed", {13, 6});
  Result<TensorSetReader> reader = TensorSetReader::open(model, other);
  REQUIRE(messageOf(reader->check("")) == model + ": tensor 'm.embbed' is missing; the nearest name there is 'm.embed'");
  REQUIRE_FALSE(reader->has(""));
  other = viewPlan();
  other.mutable_tensors(0)->set_shape(0, 14);
  reader = TensorSetReader::open(model, other);
  std::vector<float> values(6);
  REQUIRE(messageOf(reader->read("", 0, 0, values)) ==
          model + ": tensor 'm.embed' has shape [13, 6], the plan expects [14, 6]");
  REQUIRE(messageOf(reader->read("", 0, 80, values)) == "checkpoint: elements from 80 of tensor 0 do not exist");
  REQUIRE(messageOf(reader->readBox("", 1, {{0, 0}, {9, 6}}, values)) ==
          "checkpoint: box [0:9, 0:6] of tensor 1 does not exist");
  other.mutable_tensors(1)->set_hf_base(1000);
  REQUIRE(TensorSetReader::open(model, other).error().message ==
          "tensor 'm.attn#0': its view leaves checkpoint tensor 'm.attn' of shape [6, 24]");
  other = viewPlan();
  other.mutable_tensors(0)->set_name("bare.m.embed");
  reader = TensorSetReader::open(model, other);
  REQUIRE(reader->check("")); // without the first component the name is there
  REQUIRE(TensorSetReader::open(folder.path.string(), plan).error().message ==
          folder.path.string() + ": no safetensors file in this folder");
}

TEST_CASE("plans and files that do not fit are refused by text") {
  Folder folder("plait_checkpoint_write");
  pb::Plan plan = viewPlan();
  std::vector<Column> columns = checkpointColumns(plan);
  std::string path = folder.file("set");
  REQUIRE(TensorSetWriter::open(path, plan, columns).error().message ==
          path + "/model.safetensors: cannot open for writing: No such file or directory");
  REQUIRE(TensorSetWriter::create(path, plan, columns));
  fs::resize_file(path + "/model.safetensors", 64);
  REQUIRE(TensorSetWriter::open(path, plan, columns).error().message.find("it has 64 bytes, not the ") !=
          std::string::npos);
  REQUIRE(TensorSetWriter::create(path, plan, columns));
  Result<TensorSetWriter> writer = TensorSetWriter::open(path, plan, columns);
  std::vector<float> values(79);
  REQUIRE(messageOf(writer->write(0, 0, 0, values)) ==
          "checkpoint: elements [0, 79) of tensor 0, column 0 do not exist");
  REQUIRE_FALSE(writer->write(9, 0, 0, values));
  REQUIRE_FALSE(writer->write(0, 99, 0, values));
  REQUIRE_FALSE(writer->write(0, 0, -1, values));
  plan.mutable_tensors(0)->set_dtype(pb::DTYPE_I32);
  REQUIRE(messageOf(TensorSetWriter::create(path, plan, columns)) ==
          "tensor 'm.embed': checkpoints hold f32 or bf16, the plan asks for i32");
  plan = viewPlan();
  plan.mutable_tensors(2)->set_hf_shape(1, 25);
  REQUIRE(messageOf(TensorSetWriter::create(path, plan, columns)) ==
          "tensor 'm.attn#1': another tensor of the plan gives checkpoint tensor 'm.attn' another shape or type");
}
