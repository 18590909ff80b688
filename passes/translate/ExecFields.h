// How messages and fields of plan.proto are called in the exec dialect, and the messages that are attributes there.
#ifndef PLAIT_PASSES_TRANSLATE_EXECFIELDS_H
#define PLAIT_PASSES_TRANSLATE_EXECFIELDS_H

#include "dialects/exec/Exec.h"
#include "runtime/plan/plan.pb.h"

namespace plait {

/// Name of the op that shows messages of this type ("exec.routine"); empty if it is a value or has no op of its own.
llvm::StringRef opNameOf(const google::protobuf::Descriptor &type);
/// Inverse of opNameOf; nullptr if no message is shown by this op.
const google::protobuf::Descriptor *messageTypeOf(llvm::StringRef opName);

/// Name of the attribute that shows a field.
llvm::StringRef attributeNameOf(const google::protobuf::FieldDescriptor &field);

/// Is the message an attribute: Ref, Offset, RankSet, Precision, P2p or Piece?
bool isValueMessage(const google::protobuf::Descriptor &type);
mlir::Attribute attributeFromValue(mlir::MLIRContext *context, const google::protobuf::Message &message);
void valueFromAttribute(mlir::Attribute attribute, google::protobuf::Message &message);

} // namespace plait

#endif
