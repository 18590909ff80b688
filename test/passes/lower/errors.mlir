// What the phases refuse.
// RUN: plait-opt %data/plans/mlp-tp2.mlir --model-differentiate-pipeline -o %t.plan

// A phase that was left out.
// RUN: not plait-opt %t.plan --plait-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not plait-opt %t.plan --plait-lower 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: holds 0 exec.plan; what works: one
// RUN: not plait-opt %t.plan --plait-partition --plait-partition 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: holds an exec.plan already

// RUN: sed '/plan.solution/,$d' %t.plan > %t.none
// RUN: echo "}" >> %t.none
// RUN: not plait-opt %t.none --plait-partition 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: holds 0 plan.solution; what works: one

// A solution that breaks a rule.
// RUN: sed 's/uses 0 to 4/uses 0 to 3/' %t.plan > %t.short
// RUN: not plait-opt %t.short --plait-partition 2>&1 | FileCheck %s --check-prefix=SHORT
// SHORT: error: {{.*}}[F-09]

// A model that is not differentiated.
// RUN: not plait-opt %data/plans/mlp-tp2.mlir --plait-partition 2>&1 | FileCheck %s --check-prefix=RAW
// RAW: error: 'model.block_def' op has no phase forward, variant none; run --model-differentiate first

// Edited exec ops are not silently made anew.
// RUN: plait-opt %t.plan --plait-partition | sed 's/exec.slot "saved" frame 512/exec.slot "saved" frame 640/' > %t.edited
// RUN: not plait-opt %t.edited --plait-schedule 2>&1 | FileCheck %s --check-prefix=EDITED
// EDITED: error: is not what plan.solution gives: modified: routines[1].slots[3].bytes: 512 -> 640; what works: to change the solution and lower it again
