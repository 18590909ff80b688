#include "cost_model/problem/Decisions.h"
#include "passes/translate/Exec.h"
#include "passes/translate/ExecFields.h"
#include "mlir/IR/Builders.h"
#include "passes/plan/Convert.h"
#include "runtime/plan/PlanFile.h"

using namespace mlir;
namespace proto = google::protobuf;
using proto::FieldDescriptor;

namespace plait {

static void readOp(Operation *op, proto::Message &message);

// ---- Scalar fields ----

/// Sets a singular scalar; zeros need not be set.
static void readScalar(Attribute attribute, const FieldDescriptor &field, proto::Message &message) {
  const proto::Reflection &reflection = *message.GetReflection();
  switch (field.cpp_type()) {
  case FieldDescriptor::CPPTYPE_UINT32:
    return reflection.SetUInt32(&message, &field, cast<IntegerAttr>(attribute).getValue().getZExtValue());
  case FieldDescriptor::CPPTYPE_UINT64:
    return reflection.SetUInt64(&message, &field, cast<IntegerAttr>(attribute).getValue().getZExtValue());
  case FieldDescriptor::CPPTYPE_INT32:
    return reflection.SetInt32(&message, &field, cast<IntegerAttr>(attribute).getValue().getSExtValue());
  case FieldDescriptor::CPPTYPE_INT64:
    return reflection.SetInt64(&message, &field, cast<IntegerAttr>(attribute).getValue().getSExtValue());
  case FieldDescriptor::CPPTYPE_BOOL:
    return reflection.SetBool(&message, &field, true);
  case FieldDescriptor::CPPTYPE_ENUM:
    return reflection.SetEnumValue(&message, &field, cast<IntegerAttr>(attribute).getValue().getZExtValue());
  case FieldDescriptor::CPPTYPE_STRING:
    return reflection.SetString(&message, &field, cast<StringAttr>(attribute).str());
  default:
    return reflection.SetDouble(&message, &field, cast<FloatAttr>(attribute).getValueAsDouble());
  }
}

static void readList(Attribute attribute, const FieldDescriptor &field, proto::Message &message) {
  const proto::Reflection &reflection = *message.GetReflection();
  auto list = dyn_cast<ArrayAttr>(attribute);
  for (Attribute value : list ? list.getValue() : ArrayRef<Attribute>()) {
    if (auto text = dyn_cast<StringAttr>(value))
      reflection.AddString(&message, &field, text.str());
    else
      reflection.AddDouble(&message, &field, cast<FloatAttr>(value).getValueAsDouble());
  }
  auto ints = dyn_cast<DenseI64ArrayAttr>(attribute);
  for (int64_t value : ints ? ints.asArrayRef() : ArrayRef<int64_t>()) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32)
      reflection.AddUInt32(&message, &field, value);
    else if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64)
      reflection.AddUInt64(&message, &field, value);
    else
      reflection.AddInt64(&message, &field, value);
  }
}

// ---- Fields of message type ----

static void readValue(Attribute attribute, const FieldDescriptor &field, proto::Message &message) {
  const proto::Reflection &reflection = *message.GetReflection();
  if (!field.is_repeated())
    return valueFromAttribute(attribute, *reflection.MutableMessage(&message, &field));
  for (Attribute value : cast<ArrayAttr>(attribute))
    valueFromAttribute(value, *reflection.AddMessage(&message, &field));
}

static void readTensorInit(Operation *op, pb::Tensor &tensor) {
  auto tensorOp = cast<exec::TensorOp>(op);
  if (!tensorOp.getInit())
    return;
  tensor.mutable_init()->set_kind(static_cast<pb::Init::Kind>(*tensorOp.getInit()));
  tensor.mutable_init()->set_std(tensorOp.getInitStd().convertToDouble());
}

static void readPointwiseInputs(Operation *op, pb::PointwiseProgram &program) {
  for (StringAttr kind : cast<exec::PointwiseOp>(op).getInputs().getAsRange<StringAttr>())
    program.add_inputs()->set_kind(kind == "row" ? pb::PointwiseInput::ROW : pb::PointwiseInput::ELEMENT);
}

// ---- Ops ----

static void readInstr(Operation *op, pb::Instr &instr) {
  if (auto origin = op->getAttrOfType<StringAttr>("origin"))
    instr.set_origin(origin.str());
  if (isa<exec::LaunchOp>(op))
    readOp(op, *instr.mutable_launch());
  else if (isa<exec::BatchOp>(op))
    readOp(op, *instr.mutable_batch());
  else if (isa<exec::CopyOp>(op))
    readOp(op, *instr.mutable_copy());
  else
    valueFromAttribute(cast<exec::ZeroOp>(op).getRef(), *instr.mutable_zero());
}

/// Adds an op of a body to the field of `parent` that holds messages of its type.
static void readPart(Operation *op, proto::Message &parent) {
  if (parent.GetDescriptor() == pb::Routine::descriptor() && !isa<exec::SlotOp>(op))
    return readInstr(op, *static_cast<pb::Routine &>(parent).add_instrs());
  const proto::Descriptor *type = messageTypeOf(op->getName().getStringRef());
  const proto::Descriptor &parentType = *parent.GetDescriptor();
  const proto::Reflection &reflection = *parent.GetReflection();
  for (int i = 0; i < parentType.field_count(); ++i) {
    const FieldDescriptor &field = *parentType.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && field.message_type() == type)
      return readOp(op, field.is_repeated() ? *reflection.AddMessage(&parent, &field)
                                            : *reflection.MutableMessage(&parent, &field));
  }
}

static void readOp(Operation *op, proto::Message &message) {
  if (auto solution = dyn_cast<plan::SolutionOp>(op)) {
    static_cast<pb::Decisions &>(message) = decisionsFromSolution(*solutionFromOp(solution));
    return;
  }
  const proto::Descriptor &type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor &field = *type.field(i);
    bool isMessage = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (isMessage && !isValueMessage(*field.message_type()))
      continue;
    Attribute attribute = op->getAttr(attributeNameOf(field));
    if (!attribute)
      continue;
    if (isMessage)
      readValue(attribute, field, message);
    else if (field.is_repeated())
      readList(attribute, field, message);
    else
      readScalar(attribute, field, message);
  }
  if (&type == pb::Tensor::descriptor())
    readTensorInit(op, static_cast<pb::Tensor &>(message));
  if (&type == pb::PointwiseProgram::descriptor())
    readPointwiseInputs(op, static_cast<pb::PointwiseProgram &>(message));
  for (Region &region : op->getRegions())
    for (Operation &part : region.front())
      readPart(&part, message);
}

Result<pb::Plan> planFromExec(ModuleOp module) {
  auto plans = llvm::to_vector(module.getOps<exec::PlanOp>());
  if (plans.size() != 1)
    return usageError("the module holds " + std::to_string(plans.size()) + " exec.plan; a plan file is made from one");
  pb::Plan plan;
  readOp(plans.front(), plan);
  plan.set_digest(digestOf(plan));
  return plan;
}

} // namespace plait
