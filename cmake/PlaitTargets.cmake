# plait_library(NAME SOURCES ... DEPS ...): a static library of the project.
function(plait_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# plait_mlir_library(...): as plait_library, for sources that include MLIR; shares the precompiled header.
function(plait_mlir_library name)
  plait_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  target_precompile_headers(${name} REUSE_FROM plait_mlir_pch)
endfunction()

# plait_test(NAME SOURCES ... DEPS ... [LABELS ...] [MLIR]): a Catch2 binary run by ctest.
function(plait_test name)
  cmake_parse_arguments(ARG "MLIR" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} Catch2::Catch2WithMain)
  if(ARG_MLIR)
    target_link_libraries(${name} PRIVATE MLIR LLVM)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/bin)
  target_compile_definitions(${name} PRIVATE PLAIT_TEST_DATA="${CMAKE_SOURCE_DIR}/test/data"
                                             PLAIT_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
