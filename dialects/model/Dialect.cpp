#include "dialects/model/Model.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "dialects/model/ModelDialect.cpp.inc"
#include "dialects/model/ModelEnums.cpp.inc"
#include "dialects/model/ModelInterfaces.cpp.inc"

namespace plait::model {

void ModelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/model/StructureOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/model/ComputeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/model/GradientOps.cpp.inc"
      >();
}

} // namespace plait::model
