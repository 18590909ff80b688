// The exec dialect and plan.proto are one to one: every field has an attribute, and a plan with every field filled at
// random survives the way through ops and text.
#include "passes/translate/Exec.h"
#include "passes/translate/ExecFields.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan/PlanFile.h"
#include <catch2/catch.hpp>
#include <google/protobuf/util/message_differencer.h>
#include <random>
#include <set>

using namespace mlir;
namespace proto = google::protobuf;
using proto::FieldDescriptor;

namespace {

/// Fills fields of a message at random: edge values, and all enumerators.
class Filler {
public:
  explicit Filler(unsigned seed) : random(seed) {}

  void fill(proto::Message &message, int depth = 0) {
    const proto::Descriptor &type = *message.GetDescriptor();
    // Text shows devices always, and an instruction is never empty.
    bool decisions = depth > 0 && (inDecisions || &type == plait::pb::Decisions::descriptor());
    bool outer = std::exchange(inDecisions, decisions);
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor &field = *type.field(i);
      if (field.real_containing_oneof())
        continue;
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        fillMessages(message, field, depth);
      else if (field.is_repeated())
        for (uint64_t n = below(4); n > 0; --n)
          addScalar(message, field);
      else
        setScalar(message, field);
    }
    if (&type == plait::pb::Instr::descriptor())
      fillInstr(static_cast<plait::pb::Instr &>(message), depth);
    inDecisions = outer;
  }

private:
  uint64_t below(uint64_t n) { return random() % n; }
  uint64_t number() {
    static const uint64_t edges[] = {0, 1, 7, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, ~uint64_t(0)};
    return below(2) ? below(100) : edges[below(std::size(edges))];
  }
  double real() {
    static const double edges[] = {0, -0.5, 1e-6, 1e300, 1e-300, 1.2345678e-7, 3, -1e-10, 0.1};
    return edges[below(std::size(edges))];
  }
  std::string text() {
    static const char *edges[] = {"", "plain", "two words", "quote\" \\ back", "line\nbreak", "\xc3\xa9", "%!@{"};
    return edges[below(std::size(edges))];
  }

  void fillMessages(proto::Message &message, const FieldDescriptor &field, int depth) {
    const proto::Reflection &reflection = *message.GetReflection();
    if (!field.is_repeated() && (inDecisions || below(3)))
      fill(*reflection.MutableMessage(&message, &field), depth + 1);
    for (uint64_t n = field.is_repeated() ? below(3) : 0; n > 0; --n)
      fill(*reflection.AddMessage(&message, &field), depth + 1);
  }

  void fillInstr(plait::pb::Instr &instr, int depth) {
    switch (below(4)) {
    case 0:
      return fill(*instr.mutable_launch(), depth + 1);
    case 1:
      return fill(*instr.mutable_batch(), depth + 1);
    case 2:
      return fill(*instr.mutable_copy(), depth + 1);
    default:
      return fill(*instr.mutable_zero(), depth + 1);
    }
  }

  void setScalar(proto::Message &message, const FieldDescriptor &field) {
    const proto::Reflection &reflection = *message.GetReflection();
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(&message, &field, number());
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&message, &field, number());
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, number());
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, number());
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, below(2));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, below(field.enum_type()->value_count()));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(&message, &field, text());
    default:
      return reflection.SetDouble(&message, &field, real());
    }
  }

  void addScalar(proto::Message &message, const FieldDescriptor &field) {
    const proto::Reflection &reflection = *message.GetReflection();
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.AddUInt32(&message, &field, number());
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.AddUInt64(&message, &field, number());
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.AddInt64(&message, &field, number());
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.AddString(&message, &field, text());
    default:
      return reflection.AddDouble(&message, &field, real());
    }
  }

  std::mt19937 random;
  bool inDecisions = false;
};

/// Adds `type` and every message type inside it.
void collectTypes(const proto::Descriptor *type, std::set<const proto::Descriptor *> &types) {
  if (!types.insert(type).second)
    return;
  for (int i = 0; i < type->field_count(); ++i)
    if (const proto::Descriptor *inner = type->field(i)->message_type())
      collectTypes(inner, types);
}

struct Context {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  Context() { context.loadDialect<plait::exec::ExecDialect, plait::plan::PlanDialect>(); }
};

} // namespace

TEST_CASE("every field of every message that has an op is an attribute of the op, or ops of its body") {
  Context c;
  // Shown in another way: see ExecFromPlan.cpp.
  const std::set<std::string> special = {"plait.pb.Instr", "plait.pb.Init", "plait.pb.PointwiseInput", "plait.pb.Extent"};
  std::set<const proto::Descriptor *> types;
  collectTypes(plait::pb::Plan::descriptor(), types);
  for (const proto::Descriptor *type : types) {
    INFO(type->full_name());
    StringRef opName = plait::opNameOf(*type);
    // Every type is shown somehow; messages inside Decisions are those of the plan dialect.
    bool inDecisions = std::set<std::string>{"Replica", "Stage", "SegmentMap", "AxisUse", "DeviceRange", "Override"}
                           .count(type->name());
    REQUIRE((!opName.empty() || plait::isValueMessage(*type) || special.count(type->full_name()) || inDecisions));
    if (opName.empty() || opName == "plan.solution")
      continue;
    std::optional<RegisteredOperationName> op = RegisteredOperationName::lookup(opName, &c.context);
    REQUIRE(op);
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor &field = *type->field(i);
      INFO(field.name());
      bool part = field.message_type() && !plait::isValueMessage(*field.message_type()) &&
                  field.message_type() != plait::pb::Init::descriptor() &&
                  field.message_type() != plait::pb::PointwiseInput::descriptor();
      CHECK((part || llvm::any_of(op->getAttributeNames(), [&](StringAttr name) {
               return name.strref() == plait::attributeNameOf(field);
             })));
    }
  }
}

TEST_CASE("plans with random fields survive ops and text byte for byte") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    Context c;
    plait::pb::Plan plan;
    Filler(seed).fill(plan);
    plan.set_digest(plait::digestOf(plan));
    OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&c.context));
    OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
    plait::buildExecOp(builder, plan);
    std::string text;
    llvm::raw_string_ostream stream(text);
    // The random indices do not fit together, so the verifier is left out here.
    module->print(stream, OpPrintingFlags().assumeVerified());
    OwningOpRef<ModuleOp> parsed =
        parseSourceString<ModuleOp>(text, ParserConfig(&c.context, /*verifyAfterParse=*/false));
    REQUIRE(parsed);
    plait::Result<plait::pb::Plan> back = plait::planFromExec(*parsed);
    REQUIRE(back);
    std::string difference;
    proto::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    differencer.Compare(plan, *back);
    REQUIRE(difference == "");
    REQUIRE(plait::serializePlan(*back) == plait::serializePlan(plan));
  }
}

TEST_CASE("plans that cannot be shown are refused with the reason") {
  Context c;
  auto refusal = [&](const plait::pb::Plan &plan) {
    auto module = plait::execFromPlan(c.context, plan);
    return module ? std::string() : module.error().message;
  };
  plait::pb::Plan plan;
  CHECK(refusal(plan) == "not a plan: its format is 0");
  plan.set_format(1);
  CHECK(refusal(plan) == "");

  SECTION("an unknown enumerator") {
    plan.add_schedules()->add_tasks()->set_kind(static_cast<plait::pb::TaskKind>(77));
    CHECK(refusal(plan) == "the plan cannot be shown as exec dialect: plan.schedules[0].tasks[0].kind is 77, which is no "
                           "TaskKind");
  }
  SECTION("an empty instruction") {
    plan.add_routines();
    plan.add_routines()->add_instrs();
    CHECK(refusal(plan) ==
          "the plan cannot be shown as exec dialect: plan.routines[1].instrs[0] is an empty instruction");
  }
  SECTION("a field of a later format") {
    plan.mutable_job()->GetReflection()->MutableUnknownFields(plan.mutable_job())->AddVarint(1000, 1);
    CHECK(refusal(plan) ==
          "the plan cannot be shown as exec dialect: plan.job[0] holds fields that this build does not know");
  }
  SECTION("indices that do not fit together") {
    plan.add_ranks()->set_role(3);
    CHECK(refusal(plan) == "the plan is malformed: 'exec.ranks' op names exec.role 3; the plan has 0, numbered from 0\n");
  }
}
