#!/bin/bash
# From a fresh checkout on Debian 12 to a model that trains: builds Plait, lets it weave a 1.7M-parameter byte-level
# Llama across four CPU ranks, and runs the plan on this host until the loss is below 2.6. Files go to build/quickstart.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/quickstart
plait=build/release/bin/plait
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1

show() {
  echo
  echo "\$ plait $*"
  "$plait" "$@"
}

bash tools/setup.sh
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release -j "$(nproc)" --target plait plait-worker
mkdir -p "$out"

# Seven sequences cannot be dealt evenly to two or four replicas: the search weighs tensor against pipeline parallelism.
show data encode /usr/share/common-licenses/* -o "$out/tokens.bin"
show compile --model test/data/models/byte-llama.json --cluster test/data/clusters/cpu-4.json \
  --seq-len 128 --global-batch 7 --precision fp32 -o "$out/tiny.pb"
show explain "$out/tiny.pb"
show simulate "$out/tiny.pb" --trace "$out/simulated.json"
show run "$out/tiny.pb" --data "$out/tokens.bin" --steps 300 --lr 0.003 --warmup 20 --cosine \
  --checkpoint-dir "$out/checkpoints" | tee "$out/run.log"

loss=$(awk '$3 == "loss" {loss = $4} END {print loss}' "$out/run.log")
echo
if ! awk -v loss="$loss" 'BEGIN {exit !(loss != "" && loss < 2.6)}'; then
  echo "quickstart: the loss ended at ${loss:-nothing}, not below 2.6" >&2
  exit 4
fi
echo "quickstart: loss $loss after 300 steps on 4 processes; timeline for Perfetto in $out/simulated.json"
