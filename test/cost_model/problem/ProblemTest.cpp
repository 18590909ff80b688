#include "cost_model/problem/Names.h"
#include "cost_model/problem/Problem.h"
#include "test/cost_model/TinyModel.h"
#include <catch2/catch.hpp>

using namespace plait;

TEST_CASE("precisions by name") {
  Result<Precision> bf16 = precisionByName("bf16");
  REQUIRE(bf16);
  CHECK(bf16->param == DType::BF16);
  CHECK(bf16->compute == DType::BF16);
  CHECK(bf16->grad == DType::F32);
  CHECK(bf16->moments == DType::F32);
  CHECK(*precisionByName("fp32") == Precision{});
  Result<Precision> unknown = precisionByName("fp4");
  REQUIRE(!unknown);
  CHECK(unknown.error().code == ExitCode::Usage);
  CHECK(unknown.error().message == "precision 'fp4' is not known; what works: bf16, fp32");
}

TEST_CASE("parameters count tied tensors once") {
  CHECK(test::tinyModel(3)->parameterCount() == 8 * (124 + 3 * 24 + 124));
  CHECK(test::tinyModel(3, true)->parameterCount() == 8 * (124 + 3 * 24));
  CHECK(ParamTensor{}.elements() == 1);
}

TEST_CASE("devices of a cluster are numbered in leaf order") {
  Cluster cluster;
  cluster.classes = {{"a", "x", 1, 0}, {"b", "y", 1, 0}};
  cluster.domains = {{kNone, "root", kNone, 0, "", false}, {0, "group0", kNone, 0, "", false},
                     {0, "group1", kNone, 0, "", false},   {1, "node0", 0, 2, "", false},
                     {1, "node1", 0, 2, "", false},        {2, "node2", 1, 3, "", false}};
  CHECK(cluster.deviceCount() == 7);
  CHECK(cluster.classOf(3) == 0);
  CHECK(cluster.classOf(4) == 1);
  CHECK(cluster.classOf(7) == kNone);
  CHECK(cluster.commonDomain(0, 1) == 3);
  CHECK(cluster.commonDomain(1, 2) == 1);
  CHECK(cluster.commonDomain(3, 4) == 0);
  CHECK(cluster.commonDomain(5, 5) == 5);
  CHECK(cluster.commonDomain(0, 7) == kNone);
}

TEST_CASE("nearest names come first") {
  std::vector<std::string> known{"h100-sxm-80gb", "a100-sxm-80gb", "cpu", "v100"};
  CHECK(nearestNames("H100-sxm-80", known, 2) == std::vector<std::string>{"h100-sxm-80gb", "a100-sxm-80gb"});
  CHECK(nearestNames("v10", known, 1) == std::vector<std::string>{"v100"});
  CHECK(nearestNames(std::string(100000, 'x'), known).size() == 3);
  CHECK(joined({"a", "b"}) == "a, b");
}

TEST_CASE("a reason says place, request, rule and what works") {
  Reason reason{"F-07", "replica 0, stage 1", "tensor parallel 8", "factor 'h' has 6 units", {"1 to 6"}};
  CHECK(reason.text() == "replica 0, stage 1: tensor parallel 8: factor 'h' has 6 units [F-07]; what works: 1 to 6");
  reason.works.clear();
  CHECK(reason.text() == "replica 0, stage 1: tensor parallel 8: factor 'h' has 6 units [F-07]");
}
