#include "cost_model/facts/Facts.h"
#include <catch2/catch.hpp>

using namespace plait;

TEST_CASE("built-in facts are complete and plausible") {
  const Facts &facts = Facts::builtin();
  for (const char *name : {"h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb", "a100-sxm-40gb", "v100-sxm-32gb", "cpu"})
    CHECK(facts.device(name));
  for (const char *name : {"nvlink2", "nvlink3", "nvlink4", "ib-hdr200", "ib-ndr400", "shm", "ethernet"})
    CHECK(facts.link(name));
  for (const std::string &name : facts.deviceNames()) {
    const DeviceFacts &device = **facts.device(name);
    INFO(name);
    CHECK(device.name == name);
    CHECK(device.peakBf16 >= device.peakF32);
    CHECK(device.gemmEfficiency <= 1);
    CHECK(device.memoryBytes > device.reserveBytes);
    for (const auto &[figure, value] : device.figures)
      CHECK(!value.source.empty());
  }
  for (const std::string &name : facts.linkNames()) {
    const LinkFacts &link = **facts.link(name);
    INFO(name);
    for (const LinkProtocol &protocol : link.protocols)
      CHECK(protocol.rate <= link.nominalRate);
  }
  CHECK((*facts.target("plait"))->tpExposed == 1);
  CHECK((*facts.target("megatron@core_v0.14"))->syncExposed < 0.1);
  CHECK_THAT(facts.target("megatrn").error().message, Catch::StartsWith("no facts about target 'megatrn'; nearest known: megatron"));
  CHECK((*facts.link("nvlink4"))->label == Label::Calibrated);
  CHECK((*facts.link("ethernet"))->label == Label::Analytic);
  CHECK(nameOf(Label::Measured) == "measured");
}

TEST_CASE("unknown names list the nearest and all known ones") {
  Result<const DeviceFacts *> device = Facts::builtin().device("h100-80gb");
  REQUIRE(!device);
  CHECK(device.error().code == ExitCode::Usage);
  CHECK_THAT(device.error().message, Catch::StartsWith("no facts about device 'h100-80gb'; nearest known: h100-sxm-80gb, "));
  CHECK_THAT(device.error().message, Catch::Contains("all known: a100-sxm-40gb, a100-sxm-80gb, cpu, "));
  Result<const LinkFacts *> link = Facts::builtin().link("nvlink");
  REQUIRE(!link);
  CHECK_THAT(link.error().message, Catch::StartsWith("no facts about link 'nvlink'; nearest known: nvlink2, nvlink3, nvlink4"));
}

TEST_CASE("added facts replace others; errors say what is wrong") {
  const std::string rate = R"({"value": 1e9, "unit": "bytes/s", "source": "profile", "label": "measured"})";
  auto link = [&](const std::string &figures, const std::string &protocols) {
    return R"({"link": "shm", "figures": {)" + figures + R"(}, "protocols": [)" + protocols + "]}";
  };
  const std::string band = R"("error_band": {"value": 0, "unit": "relative", "source": "profile", "label": "measured"})";
  const std::string protocol = R"({"setup": )" + rate + R"(, "hop": )" + rate + R"(, "rate": )" + rate + "}";
  Facts facts = Facts::builtin();
  REQUIRE(facts.add(link("\"nominal_rate\": " + rate + ", " + band, protocol), "x.json"));
  CHECK((*facts.link("shm"))->protocols[0].rate == 1e9);
  CHECK((*facts.link("shm"))->label == Label::Measured);
  CHECK((*Facts::builtin().link("shm"))->label == Label::Analytic);

  auto message = [&](const std::string &text) {
    Facts scratch;
    Status status = scratch.add(text, "x.json");
    return status ? std::string() : status.error().message;
  };
  CHECK(message("{") == "x.json: it is not JSON");
  CHECK(message("3") == "x.json: an entry of facts names either a \"device\", a \"link\" or a \"target\"");
  CHECK(message(R"({"link": "l", "figure": {}})") ==
        "x.json: link 'l': key 'figure' is not known; what works: figures, link, protocols");
  CHECK(message(R"({"device": "d"})") == "x.json: device 'd': figures are not an object");
  CHECK(message(R"({"device": "d", "figures": {}})") == "x.json: device 'd': figure 'memory' is missing");
  CHECK_THAT(message(R"({"device": "d", "figures": {"memry": 1}})"),
             Catch::StartsWith("x.json: device 'd': figure 'memry' is not known; what works: memory, "));
  CHECK(message(link("\"nominal_rate\": 3, " + band, protocol)) ==
        "x.json: link 'shm', figure 'nominal_rate': it is not {\"value\": number, \"unit\", \"source\", \"label\"}");
  CHECK(message(link(R"("nominal_rate": {"value": 0, "unit": "u", "source": "s"}, )" + band, protocol)) ==
        "x.json: link 'shm', figure 'nominal_rate': 0 is out of range; it is positive");
  CHECK(message(link(R"("nominal_rate": {"value": 1, "unit": "u"}, )" + band, protocol)) ==
        "x.json: link 'shm', figure 'nominal_rate': it has no unit or no source");
  CHECK(message(link(R"("nominal_rate": {"value": 1, "unit": "u", "source": "s", "label": "sure"}, )" + band, protocol)) ==
        "x.json: link 'shm', figure 'nominal_rate': label 'sure' is not known; what works: measured, calibrated, analytic");
  CHECK(message(link(R"("nominal_rate": {"value": 1, "unit": 2}, )" + band, protocol)) ==
        "x.json: link 'shm', figure 'nominal_rate': 'unit' is not text");
  CHECK(message(link(R"("nominal_rate": {"value": 1, "note": "u"}, )" + band, protocol)) ==
        "x.json: link 'shm', figure 'nominal_rate': key 'note' is not known; what works: value, unit, source, label");
  CHECK(message(link("\"nominal_rate\": " + rate + ", " + band, "")) == "x.json: link 'shm': a link has 1 to 8 protocols");
}
