// plan.proto <-> exec dialect. Nothing is lost either way: translating a plan there and back gives the same bytes.
//
// The translation is driven by the descriptors of the proto: a message that is repeated has an op, its fields are
// attributes of the same names, and messages inside are attributes (values) or ops of the body (parts). A field that is
// added to the proto needs an attribute in the dialect and nothing here.
#ifndef PLAIT_PASSES_TRANSLATE_EXEC_H
#define PLAIT_PASSES_TRANSLATE_EXEC_H

#include "dialects/exec/Exec.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/plan/Result.h"
#include "runtime/plan/plan.pb.h"

namespace plait {

/// The plan of the one exec.plan in a verified module. The digest is made anew, so that edited text gives a
/// plan file that loads.
/// Error Usage if the module holds no exec.plan or several.
Result<pb::Plan> planFromExec(mlir::ModuleOp module);

/// Error Usage if the plan has no format, holds enumerators or fields unknown to this build, or an empty instruction;
/// or Usage with the verifier's message if its indices do not fit together.
Result<mlir::OwningOpRef<mlir::ModuleOp>> execFromPlan(mlir::MLIRContext &context, const pb::Plan &plan);

/// One message as an op, at the insertion point of `builder`. Precondition: its enumerators are known and no instruction
/// is empty.
mlir::Operation *buildExecOp(mlir::OpBuilder &builder, const google::protobuf::Message &message);

inline exec::RoutineOp buildRoutineOp(mlir::OpBuilder &builder, const pb::Routine &message) {
  return llvm::cast<exec::RoutineOp>(buildExecOp(builder, message));
}
inline exec::ProgramOp buildProgramOp(mlir::OpBuilder &builder, const pb::Program &message) {
  return llvm::cast<exec::ProgramOp>(buildExecOp(builder, message));
}
inline exec::ScheduleOp buildScheduleOp(mlir::OpBuilder &builder, const pb::Schedule &message) {
  return llvm::cast<exec::ScheduleOp>(buildExecOp(builder, message));
}
inline exec::RoleOp buildRoleOp(mlir::OpBuilder &builder, const pb::Role &message) {
  return llvm::cast<exec::RoleOp>(buildExecOp(builder, message));
}

} // namespace plait

#endif
