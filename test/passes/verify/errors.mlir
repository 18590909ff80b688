// The passes that close the phases see faults, and name the op.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline --plait-partition -o %t.partitioned

// An operand that leaves its slot.
// RUN: sed 's/exec.slot "saved" frame 512/exec.slot "saved" frame 128/' %t.partitioned > %t.slot
// RUN: not plait-opt %t.slot --plait-verify-partitioned 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT: error: routine 1 'mlp.forward.none'
// SLOT: exec.routine "mlp.forward.none"

// A launch that is not in the projection: the first gemm of the forward is gone.
// RUN: sed '/<3 .4, 1, 16. f32>. ints/d' %t.partitioned > %t.launch
// RUN: not plait-opt %t.launch --plait-verify-partitioned 2>&1 | FileCheck %s --check-prefix=LAUNCH
// LAUNCH: error: 'exec.routine' op launches other works than the projection of block 'mlp' has

// A routine that is missing.
// RUN: sed '/exec.routine "mlp.forward.none"/,/^    }$/d' %t.partitioned > %t.missing
// RUN: not plait-opt %t.missing --plait-verify-partitioned 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: 'exec.plan' op has no routine with the works of block 'mlp', phase forward, variant none

// A task list without its vote.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline --plait-lower-pipeline -o %t.lowered
// RUN: plait-opt %t.lowered --plait-verify-lowered -o /dev/null
// RUN: sed 's/exec.task vote queue 2/exec.task commit queue 2/' %t.lowered > %t.vote
// RUN: not plait-opt %t.vote --plait-verify-lowered 2>&1 | FileCheck %s --check-prefix=VOTE
// VOTE: error: role 0 'r0.s0': TASK_VOTE occurs 0 times in its schedule, not once

// RUN: echo "module {}" > %t.empty
// RUN: not plait-opt %t.empty --plait-verify-lowered 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: the module holds 0 exec.plan
