// Token files and batches against the definition of a sample; refusals by text.
#include "runtime/data/TokenBatches.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <unistd.h>

using namespace plait;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("plait_data_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string &name) const { return (path / name).string(); }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
};

std::string tokenHeader(char version, char width) {
  return std::string("PLAITTOK") + version + std::string(3, '\0') + width + std::string(3, '\0');
}

std::string openError(const std::string &path) {
  Result<TokenFile> file = TokenFile::open(path);
  return file ? "" : file.error().message;
}

std::vector<uint32_t> counting(uint32_t count) {
  std::vector<uint32_t> ids(count);
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

} // namespace

TEST_CASE("token files round trip in both widths") {
  Folder folder;
  std::vector<uint32_t> ids{0, 1, 255, 256, 65535};
  for (uint32_t width : {2u, 4u}) {
    REQUIRE(writeTokens(folder.file("t"), ids, width));
    Result<TokenFile> file = TokenFile::open(folder.file("t"));
    REQUIRE(file);
    REQUIRE(fs::file_size(folder.file("t")) == 16 + width * ids.size());
    REQUIRE(file->size() == int64_t(ids.size()));
    for (size_t i = 0; i < ids.size(); ++i)
      REQUIRE(file->at(i) == ids[i]);
  }
  REQUIRE(writeTokens(folder.file("t"), {70000}, 4));
  REQUIRE(TokenFile::open(folder.file("t"))->at(0) == 70000);
  REQUIRE(writeTokens(folder.file("t"), {70000}, 2).error().message ==
          folder.file("t") + ": id 70000 does not fit 2 bytes per id; use 4");
}

TEST_CASE("bytes are encoded as their values, file after file") {
  Folder folder;
  std::string a = folder.write("a", "Hi\xff"), b = folder.write("b", "!");
  REQUIRE(encodeBytes({a, b}, folder.file("out")));
  Result<TokenFile> file = TokenFile::open(folder.file("out"));
  REQUIRE(file->size() == 4);
  REQUIRE(file->at(0) == 'H');
  REQUIRE(file->at(2) == 255);
  REQUIRE(file->at(3) == '!');
  REQUIRE(encodeBytes({folder.write("e", "")}, folder.file("none")).error().message ==
          folder.file("none") + ": the inputs hold no bytes to encode");
  REQUIRE(encodeBytes({folder.file("absent")}, folder.file("none")).error().message ==
          folder.file("absent") + ": cannot open: No such file or directory");
}

TEST_CASE("damaged token files are refused by text") {
  Folder folder;
  std::string path = folder.write("t", "hello");
  REQUIRE(openError(path) ==
          path + ": not a token file (it does not start with \"PLAITTOK\")");
  folder.write("t", "");
  REQUIRE(openError(path).find("not a token file") != std::string::npos);
  folder.write("t", tokenHeader(2, 2));
  REQUIRE(openError(path) == path + ": token file version 2, this build reads version 1");
  folder.write("t", tokenHeader(1, 3));
  REQUIRE(openError(path) == path + ": 3 bytes per id; ids have 2 or 4");
  folder.write("t", tokenHeader(1, 2) + "abc");
  REQUIRE(openError(path) == path + ": 3 bytes of ids are no multiple of 2; the file is damaged or incomplete");
}

TEST_CASE("samples tile the file and wrap, in sequence-major order") {
  Folder folder;
  REQUIRE(writeTokens(folder.file("t"), counting(23), 2));
  Result<TokenBatches> batches = TokenBatches::open(folder.file("t"), {4, 6, 100});
  REQUIRE(batches);
  for (int64_t step = 1; step <= 5; ++step)
    for (int64_t samples : {1, 2, 3})
      for (int64_t first = 0; first < 6; first += samples) {
        std::vector<int32_t> tokens(4 * samples, -7), labels(4 * samples, -7);
        REQUIRE(batches->load(step, first, samples, tokens.data(), labels.data()));
        for (int64_t sample = 0; sample < samples; ++sample)
          for (int64_t position = 0; position < 4; ++position) {
            int64_t start = ((step - 1) * 6 + first + sample) * 4 % 19;
            REQUIRE(tokens[position * samples + sample] == start + position);
            REQUIRE(labels[position * samples + sample] == start + position + 1);
          }
      }
  std::vector<int32_t> labels(4);
  REQUIRE(batches->load(1, 0, 1, nullptr, labels.data()));
  REQUIRE(labels == std::vector<int32_t>{1, 2, 3, 4});
  REQUIRE(*batches->countTargets(3) == 24);
  REQUIRE(batches->windowStart(INT64_MAX, 5) >= 0);
  REQUIRE(batches->windowStart(INT64_MAX, 5) < 19);
}

TEST_CASE("ignored tokens are no targets, and counted for the whole batch") {
  Folder folder;
  std::vector<uint32_t> ids = counting(40);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = i % 3 == 0 ? 65535 : i;
  REQUIRE(writeTokens(folder.file("t"), ids, 2));
  Result<TokenBatches> batches = TokenBatches::open(folder.file("t"), {5, 4, 100}, 65535);
  for (int64_t step = 1; step <= 9; ++step) {
    std::vector<int32_t> tokens(20), labels(20);
    REQUIRE(batches->load(step, 0, 4, tokens.data(), labels.data()));
    for (int64_t sample = 0; sample < 4; ++sample)
      for (int64_t position = 0; position < 5; ++position) {
        uint32_t next = ids[batches->windowStart(step, sample) + position + 1];
        REQUIRE(labels[position * 4 + sample] == (next == 65535 ? -1 : int32_t(next)));
      }
    REQUIRE(*batches->countTargets(step) ==
            std::count_if(labels.begin(), labels.end(), [](int32_t label) { return label >= 0; }));
  }
}

TEST_CASE("batches that do not fit are refused by text") {
  Folder folder;
  std::string path = folder.file("t");
  REQUIRE(writeTokens(path, counting(5), 2));
  REQUIRE(TokenBatches::open(path, {5, 1, 10}).error().message ==
          path + ": 5 tokens are too few for sequence length 5, which needs at least 6");
  REQUIRE(TokenBatches::open(path, {INT64_MAX, 1, 10}).error().message.find("too few") != std::string::npos);
  REQUIRE(TokenBatches::open(path, {0, 1, 10}).error().message ==
          path + ": sequence length 0, global batch 1 and vocabulary 10 must be positive");
  Result<TokenBatches> batches = TokenBatches::open(path, {4, 1, 3});
  REQUIRE(batches->load(1, 0, 1, nullptr, nullptr).error().message ==
          path + ": id 3 at position 3 is beyond the vocabulary of 3");
  REQUIRE(writeTokens(path, {}, 2));
  REQUIRE(TokenBatches::open(path, {1, 1, 3}).error().message.find("0 tokens are too few") != std::string::npos);
}
