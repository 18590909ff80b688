#!/bin/bash
# torch_reference.sh PACKAGES ARGUMENTS...: runs torch_reference.py with Debian's Python and torch; the Transformers release
# that works with that torch is installed once into the folder PACKAGES. Exit code 77 (skipped) if it cannot be had.
set -u
packages=$1
shift
python=/usr/bin/python3
if ! "$python" -c 'import torch' 2>/dev/null; then
  echo "skipped: python3-torch is not installed"
  exit 77
fi
if [ ! -f "$packages/installed" ]; then
  if ! "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$packages" 'transformers==4.38.2' 'numpy<2'; then
    echo "skipped: transformers 4.38.2 cannot be installed"
    exit 77
  fi
  touch "$packages/installed"
fi
PYTHONPATH=$packages exec "$python" "$(dirname "$0")/torch_reference.py" "$@"
