#include "passes/translate/ExecFields.h"

using namespace mlir;
namespace proto = google::protobuf;

namespace plait {

namespace {
struct OpMessage {
  StringRef op;
  const proto::Descriptor *message;
};
} // namespace

static ArrayRef<OpMessage> opMessages() {
  static const OpMessage table[] = {
      {"exec.plan", pb::Plan::descriptor()},
      {"exec.provenance", pb::Provenance::descriptor()},
      {"exec.job", pb::Job::descriptor()},
      {"exec.tensor", pb::Tensor::descriptor()},
      {"exec.estimate", pb::Estimate::descriptor()},
      {"exec.pruned", pb::Pruned::descriptor()},
      {"exec.runner_up", pb::RunnerUp::descriptor()},
      {"plan.solution", pb::Decisions::descriptor()},
      {"exec.family", pb::GroupFamily::descriptor()},
      {"exec.channel", pb::Channel::descriptor()},
      {"exec.work", pb::Work::descriptor()},
      {"exec.pointwise", pb::PointwiseProgram::descriptor()},
      {"exec.compute", pb::PointwiseInstr::descriptor()},
      {"exec.routine", pb::Routine::descriptor()},
      {"exec.slot", pb::Slot::descriptor()},
      {"exec.launch", pb::Launch::descriptor()},
      {"exec.batch", pb::Batch::descriptor()},
      {"exec.collective", pb::Collective::descriptor()},
      {"exec.copy", pb::Copy::descriptor()},
      {"exec.program", pb::Program::descriptor()},
      {"exec.call", pb::Call::descriptor()},
      {"exec.sync", pb::Sync::descriptor()},
      {"exec.schedule", pb::Schedule::descriptor()},
      {"exec.task", pb::Task::descriptor()},
      {"exec.role", pb::Role::descriptor()},
      {"exec.frame", pb::FrameClass::descriptor()},
      {"exec.port", pb::Port::descriptor()},
      {"exec.sync_part", pb::SyncPart::descriptor()},
      {"exec.residence", pb::Residence::descriptor()},
      {"exec.component", pb::Component::descriptor()},
      {"exec.ranks", pb::RankRange::descriptor()},
  };
  return table;
}

StringRef opNameOf(const proto::Descriptor &type) {
  for (const OpMessage &entry : opMessages())
    if (entry.message == &type)
      return entry.op;
  return "";
}

const proto::Descriptor *messageTypeOf(StringRef opName) {
  for (const OpMessage &entry : opMessages())
    if (entry.op == opName)
      return entry.message;
  return nullptr;
}

StringRef attributeNameOf(const proto::FieldDescriptor &field) {
  // `operands` would clash with the operands that every op has.
  return field.name() == "operands" ? StringRef("args") : StringRef(field.name());
}

// ---- Values ----

static ArrayRef<int64_t> ints(const proto::RepeatedField<int64_t> &list) { return {list.data(), size_t(list.size())}; }
static SmallVector<int64_t> ints(const proto::RepeatedField<uint32_t> &list) { return {list.begin(), list.end()}; }

static exec::DType dtypeOf(pb::DType type) { return static_cast<exec::DType>(type); }
static pb::DType dtypeOf(exec::DType type) { return static_cast<pb::DType>(type); }

static Attribute attributeOf(MLIRContext *context, const pb::Ref &ref) {
  return exec::RefAttr::get(context, ref.slot(), ref.offset(), ints(ref.shape()), ints(ref.stride()),
                            dtypeOf(ref.dtype()));
}

static void read(exec::RefAttr attr, pb::Ref &ref) {
  ref.set_slot(attr.getSlot());
  ref.set_offset(attr.getOffset());
  ref.mutable_shape()->Assign(attr.getShape().begin(), attr.getShape().end());
  ref.mutable_stride()->Assign(attr.getStride().begin(), attr.getStride().end());
  ref.set_dtype(dtypeOf(attr.getDtype()));
}

static Attribute attributeOf(MLIRContext *context, const pb::Offset &offset) {
  return exec::OffsetAttr::get(context, offset.constant(), offset.per_coord(), offset.axis());
}

static void read(exec::OffsetAttr attr, pb::Offset &offset) {
  offset.set_constant(attr.getConstant());
  offset.set_per_coord(attr.getPerCoord());
  offset.set_axis(attr.getAxis());
}

static Attribute attributeOf(MLIRContext *context, const pb::RankSet &set) {
  SmallVector<int64_t> counts, strides;
  for (const pb::Extent &extent : set.extents()) {
    counts.push_back(extent.count());
    strides.push_back(extent.stride());
  }
  return exec::RankSetAttr::get(context, set.base(), counts, strides, ints(set.listed()));
}

static void read(exec::RankSetAttr attr, pb::RankSet &set) {
  set.set_base(attr.getBase());
  for (auto [count, stride] : llvm::zip(attr.getCounts(), attr.getStrides())) {
    pb::Extent &extent = *set.add_extents();
    extent.set_count(count);
    extent.set_stride(stride);
  }
  set.mutable_listed()->Assign(attr.getListed().begin(), attr.getListed().end());
}

static Attribute attributeOf(MLIRContext *context, const pb::Precision &precision) {
  return exec::PrecisionAttr::get(context, dtypeOf(precision.param()), dtypeOf(precision.compute()),
                                  dtypeOf(precision.saved()), dtypeOf(precision.grad()), dtypeOf(precision.reduce()),
                                  dtypeOf(precision.master()), dtypeOf(precision.moments()));
}

static void read(exec::PrecisionAttr attr, pb::Precision &precision) {
  precision.set_param(dtypeOf(attr.getParam()));
  precision.set_compute(dtypeOf(attr.getCompute()));
  precision.set_saved(dtypeOf(attr.getSaved()));
  precision.set_grad(dtypeOf(attr.getGrad()));
  precision.set_reduce(dtypeOf(attr.getReduce()));
  precision.set_master(dtypeOf(attr.getMaster()));
  precision.set_moments(dtypeOf(attr.getMoments()));
}

static Attribute attributeOf(MLIRContext *context, const pb::P2p &p2p) {
  return exec::P2pAttr::get(context, p2p.send(), p2p.channel(), p2p.port(), p2p.offset(), p2p.bytes());
}

static void read(exec::P2pAttr attr, pb::P2p &p2p) {
  p2p.set_send(attr.getSend());
  p2p.set_channel(attr.getChannel());
  p2p.set_port(attr.getPort());
  p2p.set_offset(attr.getOffset());
  p2p.set_bytes(attr.getBytes());
}

static Attribute attributeOf(MLIRContext *context, const pb::Piece &piece) {
  return exec::PieceAttr::get(context, piece.offset(), piece.rows(), piece.row_elements(), piece.row_stride(),
                              piece.decay());
}

static void read(exec::PieceAttr attr, pb::Piece &piece) {
  piece.set_offset(attr.getOffset());
  piece.set_rows(attr.getRows());
  piece.set_row_elements(attr.getRowElements());
  piece.set_row_stride(attr.getRowStride());
  piece.set_decay(attr.getDecay());
}

namespace {
/// A message type that is an attribute, with its two conversions.
struct ValueCodec {
  const proto::Descriptor *type;
  Attribute (*write)(MLIRContext *, const proto::Message &);
  void (*read)(Attribute, proto::Message &);
};
} // namespace

template <typename Message, typename Attr> static ValueCodec codec() {
  return {Message::descriptor(),
          [](MLIRContext *context, const proto::Message &message) {
            return attributeOf(context, static_cast<const Message &>(message));
          },
          [](Attribute attribute, proto::Message &message) {
            read(cast<Attr>(attribute), static_cast<Message &>(message));
          }};
}

static const ValueCodec *codecOf(const proto::Descriptor &type) {
  static const ValueCodec codecs[] = {
      codec<pb::Ref, exec::RefAttr>(),     codec<pb::Offset, exec::OffsetAttr>(),
      codec<pb::P2p, exec::P2pAttr>(),     codec<pb::RankSet, exec::RankSetAttr>(),
      codec<pb::Piece, exec::PieceAttr>(), codec<pb::Precision, exec::PrecisionAttr>(),
  };
  for (const ValueCodec &entry : codecs)
    if (entry.type == &type)
      return &entry;
  return nullptr;
}

bool isValueMessage(const proto::Descriptor &type) { return codecOf(type) != nullptr; }

Attribute attributeFromValue(MLIRContext *context, const proto::Message &message) {
  return codecOf(*message.GetDescriptor())->write(context, message);
}

void valueFromAttribute(Attribute attribute, proto::Message &message) {
  codecOf(*message.GetDescriptor())->read(attribute, message);
}

} // namespace plait
