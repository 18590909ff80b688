#include "runtime/executor/Trace.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace plait;

TEST_CASE("a trace is a JSON list of complete events with names of queues and ranks") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("plait-trace-" + std::to_string(::getpid()) + ".json")).string();
  Trace trace(3);
  trace.add("gemm \"up\"", 0, Trace::Clock::now() - std::chrono::milliseconds(2), 0);
  trace.add("transfer", 1, Trace::Clock::now(), 4096);
  REQUIRE(trace.write(path));
  const nlohmann::json events = nlohmann::json::parse(std::ifstream(path));
  std::filesystem::remove(path);
  std::vector<nlohmann::json> complete;
  bool named = false;
  for (const nlohmann::json &event : events) {
    CHECK(event["pid"] == 3);
    if (event["ph"] == "X")
      complete.push_back(event);
    else
      named |= event["name"] == "process_name" && event["args"]["name"] == "rank 3";
  }
  CHECK(named);
  REQUIRE(complete.size() == 2);
  CHECK(complete[0]["name"] == "gemm \"up\"");
  CHECK(complete[0]["dur"].get<double>() >= 2000);
  CHECK(complete[1]["tid"] == 1);
  CHECK(complete[1]["args"]["bytes"] == 4096);
  const Status failed = trace.write("/nonexistent/trace.json");
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "cannot write the trace file '/nonexistent/trace.json'");
}
