// Pointwise programs of the model's elementwise ops: small SSA lists over elements (Summary.h, Kernels.h).
#ifndef PLAIT_DIALECTS_MODEL_POINTWISE_H
#define PLAIT_DIALECTS_MODEL_POINTWISE_H

#include "cost_model/workload/Summary.h"
#include "dialects/model/Model.h"

namespace plait::model {

PointwiseTemplate addProgram();                          ///< a, c -> a + c
PointwiseTemplate mulProgram();                          ///< a, c -> a * c
PointwiseTemplate scaleProgram(double factor);           ///< x -> factor * x
PointwiseTemplate biasAddProgram();                      ///< x, row b -> x + b
PointwiseTemplate activationProgram(ActivationKind kind);          ///< x -> f(x)
PointwiseTemplate activationGradProgram(ActivationKind kind);      ///< dy, x -> dy f'(x)
PointwiseTemplate gatedActivationProgram(ActivationKind kind);     ///< gate, up -> f(gate) up
PointwiseTemplate gatedActivationGradProgram(ActivationKind kind); ///< dy, gate, up -> dy f'(gate) up, dy f(gate)

} // namespace plait::model

#endif
