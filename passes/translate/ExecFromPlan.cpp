#include "cost_model/problem/Decisions.h"
#include "passes/translate/Exec.h"
#include "passes/translate/ExecFields.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "passes/plan/Convert.h"

using namespace mlir;
namespace proto = google::protobuf;
using proto::FieldDescriptor;

namespace plait {

// ---- Scalar fields as attributes ----

static Attribute integer(OpBuilder &builder, unsigned width, IntegerType::SignednessSemantics sign, uint64_t value) {
  return IntegerAttr::get(IntegerType::get(builder.getContext(), width, sign), APInt(width, value, false, true));
}

/// Attribute of a singular scalar; null for false.
static Attribute scalarAttribute(OpBuilder &builder, const proto::Message &message, const FieldDescriptor &field) {
  const proto::Reflection &reflection = *message.GetReflection();
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_UINT32:
    return integer(builder, 32, IntegerType::Unsigned, reflection.GetUInt32(message, &field));
  case FieldDescriptor::CPPTYPE_UINT64:
    return integer(builder, 64, IntegerType::Unsigned, reflection.GetUInt64(message, &field));
  case FieldDescriptor::CPPTYPE_INT32:
    return integer(builder, 32, IntegerType::Signed, reflection.GetInt32(message, &field));
  case FieldDescriptor::CPPTYPE_INT64:
    return integer(builder, 64, IntegerType::Signed, reflection.GetInt64(message, &field));
  case FieldDescriptor::CPPTYPE_BOOL:
    return reflection.GetBool(message, &field) ? builder.getUnitAttr() : nullptr;
  case FieldDescriptor::CPPTYPE_ENUM:
    return builder.getI32IntegerAttr(reflection.GetEnumValue(message, &field));
  case FieldDescriptor::CPPTYPE_STRING:
    return builder.getStringAttr(reflection.GetString(message, &field));
  default:
    return builder.getF64FloatAttr(reflection.GetDouble(message, &field));
  }
}

/// Attribute of a repeated scalar: integers of any type are 64 bits wide.
static Attribute listAttribute(OpBuilder &builder, const proto::Message &message, const FieldDescriptor &field) {
  const proto::Reflection &reflection = *message.GetReflection();
  SmallVector<int64_t> ints;
  SmallVector<double> doubles;
  SmallVector<Attribute> strings;
  for (int i = 0, count = reflection.FieldSize(message, &field); i < count; ++i)
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      ints.push_back(reflection.GetRepeatedUInt32(message, &field, i));
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      ints.push_back(reflection.GetRepeatedUInt64(message, &field, i));
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      ints.push_back(reflection.GetRepeatedInt64(message, &field, i));
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      strings.push_back(builder.getStringAttr(reflection.GetRepeatedString(message, &field, i)));
      break;
    default:
      doubles.push_back(reflection.GetRepeatedDouble(message, &field, i));
    }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE)
    return builder.getF64ArrayAttr(doubles);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING)
    return builder.getArrayAttr(strings);
  return builder.getDenseI64ArrayAttr(ints);
}

// ---- Messages as ops ----

static Operation *buildOp(OpBuilder &builder, const proto::Message &message, StringRef opName,
                          const std::string &origin);

/// The messages of a field, in order.
static SmallVector<const proto::Message *> messagesOf(const proto::Message &message, const FieldDescriptor &field) {
  const proto::Reflection &reflection = *message.GetReflection();
  SmallVector<const proto::Message *> list;
  if (field.is_repeated())
    for (int i = 0, count = reflection.FieldSize(message, &field); i < count; ++i)
      list.push_back(&reflection.GetRepeatedMessage(message, &field, i));
  else if (reflection.HasField(message, &field))
    list.push_back(&reflection.GetMessage(message, &field));
  return list;
}

/// Adds what shows a field of message type: attributes to `state`, or its messages to `parts`.
static void addMessageField(OpBuilder &builder, const proto::Message &message, const FieldDescriptor &field,
                            OperationState &state, SmallVectorImpl<const proto::Message *> &parts) {
  SmallVector<const proto::Message *> list = messagesOf(message, field);
  if (field.message_type() == pb::Init::descriptor()) {
    if (list.empty())
      return;
    const auto &init = static_cast<const pb::Init &>(*list.front());
    state.addAttribute("init", builder.getI32IntegerAttr(init.kind()));
    state.addAttribute("init_std", builder.getF64FloatAttr(init.std()));
  } else if (field.message_type() == pb::PointwiseInput::descriptor()) {
    SmallVector<StringRef> kinds;
    for (const proto::Message *input : list)
      kinds.push_back(static_cast<const pb::PointwiseInput &>(*input).kind() == pb::PointwiseInput::ROW ? "row"
                                                                                                       : "element");
    state.addAttribute(field.name(), builder.getStrArrayAttr(kinds));
  } else if (!isValueMessage(*field.message_type())) {
    llvm::append_range(parts, list);
  } else if (field.is_repeated()) {
    SmallVector<Attribute> values;
    for (const proto::Message *value : list)
      values.push_back(attributeFromValue(builder.getContext(), *value));
    state.addAttribute(field.name(), builder.getArrayAttr(values));
  } else if (!list.empty()) {
    state.addAttribute(field.name(), attributeFromValue(builder.getContext(), *list.front()));
  }
}

static Operation *buildInstr(OpBuilder &builder, const pb::Instr &instr) {
  switch (instr.what_case()) {
  case pb::Instr::kLaunch:
    return buildOp(builder, instr.launch(), "exec.launch", instr.origin());
  case pb::Instr::kBatch:
    return buildOp(builder, instr.batch(), "exec.batch", instr.origin());
  case pb::Instr::kCopy:
    return buildOp(builder, instr.copy(), "exec.copy", instr.origin());
  default:
    return exec::ZeroOp::create(builder, builder.getUnknownLoc(),
                                cast<exec::RefAttr>(attributeFromValue(builder.getContext(), instr.zero())),
                                instr.origin());
  }
}

static Operation *buildOp(OpBuilder &builder, const proto::Message &message, StringRef opName,
                          const std::string &origin) {
  OperationState state(builder.getUnknownLoc(), opName);
  SmallVector<const proto::Message *> parts;
  const proto::Descriptor &type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor &field = *type.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      addMessageField(builder, message, field, state, parts);
      continue;
    }
    Attribute attribute =
        field.is_repeated() ? listAttribute(builder, message, field) : scalarAttribute(builder, message, field);
    if (attribute)
      state.addAttribute(attributeNameOf(field), attribute);
  }
  if (!origin.empty())
    state.addAttribute("origin", builder.getStringAttr(origin));
  if (state.name.hasTrait<OpTrait::OneRegion>())
    state.addRegion()->emplaceBlock();
  Operation *op = builder.create(state);
  if (op->getNumRegions() == 0)
    return op;
  OpBuilder inner = OpBuilder::atBlockBegin(&op->getRegion(0).front());
  for (const proto::Message *part : parts)
    buildExecOp(inner, *part);
  return op;
}

Operation *buildExecOp(OpBuilder &builder, const proto::Message &message) {
  const proto::Descriptor &type = *message.GetDescriptor();
  if (&type == pb::Instr::descriptor())
    return buildInstr(builder, static_cast<const pb::Instr &>(message));
  if (&type == pb::Decisions::descriptor())
    return buildSolutionOp(builder, solutionFromDecisions(static_cast<const pb::Decisions &>(message)), "decisions");
  return buildOp(builder, message, opNameOf(type), "");
}

// ---- What cannot be shown ----

/// Why the message cannot be shown; empty if it can. `place` names it.
static std::string whyNot(const proto::Message &message, const std::string &place) {
  const proto::Reflection &reflection = *message.GetReflection();
  const proto::Descriptor &type = *message.GetDescriptor();
  if (!reflection.GetUnknownFields(message).empty())
    return place + " holds fields that this build does not know";
  if (&type == pb::Instr::descriptor() &&
      static_cast<const pb::Instr &>(message).what_case() == pb::Instr::WHAT_NOT_SET)
    return place + " is an empty instruction";
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor &field = *type.field(i);
    std::string fieldPlace = place + "." + field.name();
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
      int number = reflection.GetEnumValue(message, &field);
      if (!field.enum_type()->FindValueByNumber(number))
        return fieldPlace + " is " + std::to_string(number) + ", which is no " + field.enum_type()->name();
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      for (auto [index, part] : llvm::enumerate(messagesOf(message, field)))
        if (std::string why = whyNot(*part, fieldPlace + "[" + std::to_string(index) + "]"); !why.empty())
          return why;
    }
  }
  return "";
}

Result<OwningOpRef<ModuleOp>> execFromPlan(MLIRContext &context, const pb::Plan &plan) {
  if (plan.format() == 0)
    return usageError("not a plan: its format is 0");
  if (std::string why = whyNot(plan, "plan"); !why.empty())
    return usageError("the plan cannot be shown as exec dialect: " + why);
  context.loadDialect<exec::ExecDialect, plan::PlanDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  buildExecOp(builder, plan);
  std::string text;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) { text += diagnostic.str() + "\n"; });
  if (failed(verify(*module)))
    return usageError("the plan is malformed: " + text);
  return module;
}

} // namespace plait
