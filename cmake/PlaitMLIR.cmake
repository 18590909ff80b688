# LLVM/MLIR 22, shared: only the targets MLIR and LLVM are linked, never single MLIRxxx archives.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# One precompiled header of MLIR's own headers, reused by every library that includes MLIR.
file(WRITE ${CMAKE_BINARY_DIR}/mlir_pch.cpp "")
add_library(plait_mlir_pch OBJECT ${CMAKE_BINARY_DIR}/mlir_pch.cpp)
target_precompile_headers(plait_mlir_pch PRIVATE
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h> <mlir/IR/Dialect.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h> <mlir/IR/SymbolTable.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h> <mlir/Bytecode/BytecodeOpInterface.h>)

find_program(PLAIT_LIT NAMES lit-22 lit HINTS ${LLVM_TOOLS_BINARY_DIR})
find_program(PLAIT_FILECHECK NAMES FileCheck-22 FileCheck HINTS ${LLVM_TOOLS_BINARY_DIR})
