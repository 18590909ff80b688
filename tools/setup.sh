#!/bin/bash
# Installs what the build and the tests need, from Debian 12's own packages; does nothing when all of it is there.
set -euo pipefail

. /etc/os-release 2>/dev/null || true
if [ "${ID:-}" != debian ] || [ "${VERSION_ID:-}" != 12 ]; then
  echo "setup: this machine is ${PRETTY_NAME:-unknown}; LLVM/MLIR 22 is installed as packages of Debian 12 (bookworm) only." >&2
  echo "setup: elsewhere install MLIR 22.1, oneDNN 2.6, protobuf, nlohmann/json, CLI11 and Catch2 2.13 yourself, then use cmake." >&2
  exit 2
fi

packages=(
  g++ cmake ninja-build ccache mold git                             # build
  libmlir-22-dev llvm-22-dev mlir-22-tools llvm-22-tools            # dialects, passes, FileCheck and lit
  protobuf-compiler libprotobuf-dev nlohmann-json3-dev libcli11-dev # plan files, JSON, command lines
  libdnnl-dev libgomp1                                              # CPU kernels
  catch2 python3 python3-numpy python3-pip python3-torch            # tests and their references
)
missing=()
for package in "${packages[@]}"; do
  dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all ${#packages[@]} packages are installed" >&2
  exit 0
fi

echo "setup: installing ${missing[*]}" >&2
asRoot=()
[ "$(id -u)" -eq 0 ] || asRoot=(sudo)
apt=("${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -q)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
