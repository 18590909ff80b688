#include "dialects/model/GradientSink.h"

#define GET_OP_CLASSES
#include "dialects/model/ComputeOps.cpp.inc"
