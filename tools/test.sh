#!/bin/bash
# Builds everything and runs every test; the exit code is that of the tests. CI=true adds the tests labelled slow.
# First the parts that need no LLVM are built without it, so that an include of MLIR in them fails here.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
# Relative paths let ccache share objects between the two build folders.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

bash tools/setup.sh
cmake --preset runtime-only -DPLAIT_BUILD_TESTS=OFF
cmake --build --preset runtime-only -j "$jobs"
cmake --preset release
cmake --build --preset release -j "$jobs"

ctest --preset release --output-on-failure --no-tests=error -LE slow
if [ "${CI:-}" = true ] && [ -n "$(ctest --preset release -N -L slow | grep 'Test *#')" ]; then
  ctest --preset release --output-on-failure -L slow
fi
