// What the MLIR tools know: the dialects and the passes.
#ifndef PLAIT_TOOLS_PLAIT_OPT_REGISTRATION_H
#define PLAIT_TOOLS_PLAIT_OPT_REGISTRATION_H

namespace mlir {
class DialectRegistry;
}

namespace plait {

void registerDialects(mlir::DialectRegistry &registry);
void registerPasses();

} // namespace plait

#endif
