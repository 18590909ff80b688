// The exec dialect: plan.proto as text. passes/translate/Exec.h translates to and from the messages.
#ifndef PLAIT_DIALECTS_EXEC_EXEC_H
#define PLAIT_DIALECTS_EXEC_EXEC_H

#include "dialects/plan/Plan.h"

#include "dialects/exec/ExecDialect.h.inc"
#include "dialects/exec/ExecEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/PlanOps.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/RoutineOps.h.inc"

#define GET_OP_CLASSES
#include "dialects/exec/ScheduleOps.h.inc"

#endif
