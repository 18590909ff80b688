// The plans kept as data survive the structs.
// RUN: plait-opt %data/plans/slice-a.mlir > %t.a
// RUN: plait-opt %data/plans/slice-a.mlir --plan-struct-round-trip | diff %t.a -
// RUN: plait-opt %data/plans/slice-b.mlir > %t.b
// RUN: plait-opt %data/plans/slice-b.mlir --plan-struct-round-trip | diff %t.b -
// RUN: plait-opt %data/plans/slice-c.mlir > %t.c
// RUN: plait-opt %data/plans/slice-c.mlir --plan-struct-round-trip | diff %t.c -
// RUN: FileCheck %s < %t.b
// CHECK: plan.override replica 0 stage 1 microbatch 5 on replica 1
