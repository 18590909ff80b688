// The plan dialect: who computes which part. It holds no tensors; every op is a decision or part of an instance, so
// that a person can write a plan or a search problem as text and the structs of cost_model/problem can be printed.
#ifndef PLAIT_DIALECTS_PLAN_PLANBASE_TD
#define PLAIT_DIALECTS_PLAN_PLANBASE_TD

include "dialects/plan/Unsigned.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::plait::plan";
  let summary = "Decisions of a parallel plan, and the problems they answer";
  let description = [{
    `plan.solution` mirrors `Solution` and `plan.problem` mirrors `Problem` of cost_model/problem field for field.
    Verifiers check form only: whether a plan is legal for a cluster and a model is the business of the numbered rules.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits>;

#endif
