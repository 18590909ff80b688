// The plan dialect: decisions (plan.solution) and instances (plan.problem) as text. Conversion to and from the structs
// of cost_model/problem is in passes/plan.
#ifndef PLAIT_DIALECTS_PLAN_PLAN_H
#define PLAIT_DIALECTS_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/plan/PlanDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/plan/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/plan/SolutionOps.h.inc"

#define GET_OP_CLASSES
#include "dialects/plan/ProblemOps.h.inc"

#endif
