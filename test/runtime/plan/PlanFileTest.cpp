// Plan files: digests, refusals by text, and no crash on damaged bytes.
#include "runtime/plan/FileIo.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Sha256.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace plait;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("plait_plan_file_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string &name) const { return (path / name).string(); }
};

pb::Plan somePlan() {
  pb::Plan plan;
  plan.set_world_size(8);
  plan.mutable_job()->set_model_name("tiny");
  for (int i = 0; i < 5; ++i)
    plan.add_tensors()->set_name("t" + std::to_string(i));
  return plan;
}

std::string refusal(std::string_view bytes) {
  Result<pb::Plan> plan = parsePlan(bytes, "p.pb");
  return plan ? "" : plan.error().message;
}

} // namespace

TEST_CASE("SHA-256 of published vectors") {
  REQUIRE(toHex(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  REQUIRE(toHex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  REQUIRE(toHex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  REQUIRE(toHex(sha256(std::string(1000000, 'a'))) ==
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a saved plan loads equal and its bytes repeat") {
  Folder folder;
  pb::Plan plan = somePlan();
  REQUIRE(savePlan(folder.file("a.pb"), plan));
  pb::Plan again = somePlan();
  REQUIRE(savePlan(folder.file("b.pb"), again));
  Result<std::string> a = readFile(folder.file("a.pb"), kMaxPlanBytes), b = readFile(folder.file("b.pb"), kMaxPlanBytes);
  REQUIRE(*a == *b);
  Result<pb::Plan> loaded = loadPlan(folder.file("a.pb"));
  REQUIRE(loaded);
  REQUIRE(serializePlan(*loaded) == *a);
  REQUIRE(loaded->digest().size() == 32);
  REQUIRE(shortDigest(*loaded) == toHex(digestOf(*loaded)).substr(0, 12));
  REQUIRE_FALSE(fs::exists(folder.file("a.pb.tmp")));
}

TEST_CASE("what is not a plan is refused by text") {
  Folder folder;
  REQUIRE(refusal("") == "p.pb: the file is empty, not a plan");
  REQUIRE(refusal("hello") == "p.pb: not a plan, or a truncated one");
  pb::Plan plan = somePlan();
  REQUIRE(refusal(serializePlan(plan)) == "p.pb: not a plan (no format number)");
  plan.set_format(7);
  REQUIRE(refusal(serializePlan(plan)) ==
          "p.pb: plan format 7, this build reads format 1; compile the plan again with the tools of this build");
  plan.set_format(kPlanFormat);
  REQUIRE(refusal(serializePlan(plan)).find("p.pb: digest is missing, content has ") == 0);
  plan.set_digest(digestOf(plan));
  REQUIRE(refusal(serializePlan(plan)) == "");
  plan.set_world_size(9);
  REQUIRE(refusal(serializePlan(plan)).find("the file was changed or damaged after it was written") != std::string::npos);
  plan.add_required_features("teleport");
  REQUIRE(refusal(serializePlan(plan)) == "p.pb: the plan requires feature 'teleport', this build knows none");

  REQUIRE(loadPlan(folder.file("none.pb")).error().message == folder.file("none.pb") + ": cannot open: No such file or directory");
  REQUIRE(loadPlan(folder.path.string()).error().message == folder.path.string() + ": not a regular file");
  REQUIRE(loadPlan(folder.path.string()).error().code == ExitCode::Usage);
  REQUIRE(readFile("/proc/self/exe", 10).error().message.find("more than the limit of 10") != std::string::npos);
  Status unwritable = savePlan(folder.file("no/such/folder.pb"), plan);
  REQUIRE_FALSE(unwritable);
  REQUIRE(unwritable.error().message.find("cannot create: No such file or directory") != std::string::npos);
}

TEST_CASE("damaged bytes never load and never crash") {
  pb::Plan plan = somePlan();
  plan.set_format(kPlanFormat);
  plan.set_digest(digestOf(plan));
  std::string bytes = serializePlan(plan);
  std::mt19937 random(3);
  for (size_t length = 0; length < bytes.size(); ++length)
    REQUIRE(refusal(std::string_view(bytes).substr(0, length)) != "");
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = bytes;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    Result<pb::Plan> parsed = parsePlan(damaged, "p.pb");
    // A flip may turn into an equivalent encoding, never into another plan.
    if (parsed)
      REQUIRE(serializePlan(*parsed) == bytes);
  }
}
