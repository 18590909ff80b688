#!/usr/bin/env python3
"""Plans as real processes: the hand-written plans against one rank, a run continued on other layouts, lost ranks.

Every run is `plait run`, one worker process a rank; only processes that it started are signalled, by id.
"""
import argparse
import array
import json
import math
import os
import signal
import struct
import subprocess
import sys
import time

TOLERANCE = 1e-5


class Failure(Exception):
    pass


class Bench:
    def __init__(self, args):
        self.plait, self.data, self.work = os.path.join(args.bin, "plait"), args.data, args.work
        os.makedirs(self.work, exist_ok=True)
        self.tokens = os.path.join(self.work, "tokens.bin")
        state, ids = 12345, []
        for _ in range(6000):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            ids.append((state >> 33) % 509)
        with open(self.tokens, "wb") as file:
            file.write(b"PLAITTOK" + struct.pack("<II", 1, 2) + array.array("H", ids).tobytes())

    def path(self, name):
        return os.path.join(self.work, name)

    def compile(self, name, cluster, batch, *choices, model="tiny-llama"):
        plan = self.path(name + ".pb")
        subprocess.run([self.plait, "compile", "--model", os.path.join(self.data, f"models/{model}.json"), "--cluster",
                        os.path.join(self.data, f"clusters/{cluster}.json"), "--seq-len", "24", "--global-batch", str(batch),
                        "--precision", "fp32", "-o", plan, *choices], check=True, stdout=subprocess.DEVNULL, timeout=120)
        return plan

    def command(self, plan, *flags):
        return [self.plait, "run", plan, "--data", self.tokens, "--reference", "--lr", "2e-5", "--clip", "1", "--format", "json", *flags]

    def run(self, plan, *flags, key="loss"):
        """Losses (or another figure) by step."""
        done = subprocess.run(self.command(plan, *flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        if done.returncode:
            raise Failure(f"run of {plan} ended with {done.returncode}: {done.stderr}")
        return {line["step"]: line[key] for line in map(json.loads, done.stdout.splitlines())}


def read_tensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = file.read()
    return {name: array.array("f", body[slice(*entry["data_offsets"])]) for name, entry in header.items() if name != "__metadata__"}


def worst_of(differences):
    """The largest; infinite if any is not finite, because max() may pass over a NaN."""
    return max((d if math.isfinite(d) else math.inf for d in differences), default=0.0)


def same_losses(ours, expected, what):
    if sorted(ours) != sorted(expected):
        raise Failure(f"{what}: steps {sorted(ours)} instead of {sorted(expected)}")
    worst = worst_of(abs(ours[step] / expected[step] - 1) for step in expected)
    print(f"  {what}: {len(expected)} steps, worst {worst:.1e}")
    if not worst <= TOLERANCE:
        raise Failure(f"{what}: differ by {worst}")


def same_tensors(ours, expected, what):
    if sorted(ours) != sorted(expected):
        raise Failure(f"{what}: other tensors than one rank")
    worst, where = 0.0, ""
    for name, values in expected.items():
        if len(ours[name]) != len(values):
            raise Failure(f"{what}: {name} has {len(ours[name])} elements, not {len(values)}")
        scale = worst_of(map(abs, values)) or 1.0
        d = worst_of(abs(a - b) / scale for a, b in zip(ours[name], values))
        if d > worst:
            worst, where = d, name
    print(f"  {what}: {len(expected)} tensors, worst {worst:.1e} in {where}")
    if not worst <= TOLERANCE:
        raise Failure(f"{what}: {where} differs by {worst}")


def check_slices(bench):
    """The plans in which nothing is uniform, on 8 processes, and an even one, against one rank."""
    def trained(name, plan):
        losses = bench.run(plan, "--steps", "20", "--dump", bench.path(name))
        return losses, *(read_tensors(bench.path(f"{name}/{kind}/tensors.safetensors")) for kind in ("gradients", "parameters"))

    expected = trained("one", bench.compile("one", "cpu-1", 8))
    for name in ("slice-a", "slice-b", "slice-c"):
        plan = bench.compile(name, "cpu-8", 8, "--plan", os.path.join(bench.data, f"plans/{name}.mlir"))
        losses, gradients, parameters = trained(name, plan)
        same_losses(losses, expected[0], name)
        same_tensors(gradients, expected[1], name + " gradients")
        same_tensors(parameters, expected[2], name + " parameters")


# Model, devices, fixed choices. The search chooses the rest, uneven layers included.
LAYOUTS = [
    ("tiny-llama", 2, "tp=2,pp=1"), ("tiny-llama", 2, "tp=2,pp=1,sequence_parallel=yes"), ("tiny-llama", 3, "tp=3,pp=1,sequence_parallel=no"),
    ("tiny-llama", 3, "tp=3,pp=1,sequence_parallel=yes,recompute=full"), ("tiny-llama", 4, "tp=4,pp=1"), ("tiny-llama", 2, "tp=1,pp=2"),
    ("tiny-llama", 3, "tp=1,pp=3,recompute=selective"), ("tiny-llama", 4, "tp=1,pp=4,schedule=gpipe,micro_batch=1"),
    ("tiny-llama", 4, "tp=1,pp=4,split_wgrad=yes,micro_batch=1"), ("tiny-llama", 2, "dp=2,sharding=none"),
    ("tiny-llama", 2, "dp=2,sharding=optimizer"), ("tiny-llama", 3, "dp=3,sharding=optimizer,micro_batch=2"),
    ("tiny-llama", 4, "tp=2,pp=2,split_wgrad=yes"), ("tiny-llama", 4, "tp=2,dp=2,sharding=optimizer,sequence_parallel=yes"),
    ("tiny-llama", 8, "tp=2,pp=2,dp=2,sharding=optimizer"), ("tiny-llama", 6, "tp=3,pp=2"), ("tiny-llama", 6, "tp=1,pp=2,dp=3,recompute=full"),
    ("tiny-llama-untied", 4, "tp=2,pp=2"), ("tiny-llama-untied", 2, "dp=2,sharding=optimizer"), ("tiny-qwen3", 2, "tp=2,pp=1,sequence_parallel=yes"),
    ("tiny-qwen3", 4, "tp=2,pp=2"), ("tiny-gpt2", 2, "tp=2,pp=1"), ("tiny-gpt2", 4, "tp=2,pp=2,sequence_parallel=yes"), ("tiny-neox", 2, "tp=2,pp=1"),
]


def without_silent(tensors):
    """A key bias has a gradient of rounding only, which AdamW blows up to whole steps."""
    return {name: values for name, values in tensors.items() if not name.endswith(("c_attn.bias", "query_key_value.bias"))}


def check_layouts(bench):
    """Gradients, clip norm, parameters and losses of three SGD and three AdamW steps against one rank."""
    def trained(name, optimizer, model, devices, fix):
        plan = bench.compile(name, f"cpu-{devices}", 12, "--optimizer", optimizer, *(["--fix", fix] if fix else []), model=model)
        norms = bench.run(plan, "--steps", "3", "--dump", bench.path(name), key="grad_norm")
        return norms, *(read_tensors(bench.path(f"{name}/{kind}/tensors.safetensors")) for kind in ("gradients", "parameters"))

    for optimizer in ("sgd", "adamw"):
        expected = {}
        for model, devices, fix in LAYOUTS:
            if model not in expected:
                expected[model] = trained("one", optimizer, model, 1, "")
            norms, gradients, parameters = trained("layout", optimizer, model, devices, fix)
            what = f"{optimizer} {model} on {devices}: {fix}"
            same_losses(norms, expected[model][0], what + ": norms")
            same_tensors(gradients, expected[model][1], what + ": gradients")
            same_tensors(without_silent(parameters), without_silent(expected[model][2]), what + ": parameters")


def check_resume(bench):
    """TP2 x PP2, then PP4, then DP3, then one rank: the loss trace of a run that was never interrupted."""
    expected = bench.run(bench.compile("whole", "cpu-1", 12), "--steps", "20")
    losses = {}
    layouts = [("cpu-4", "tp=2,pp=2,dp=1"), ("cpu-4", "tp=1,pp=4,dp=1"), ("cpu-3", "tp=1,pp=1,dp=3,sharding=optimizer"), ("cpu-1", "tp=1")]
    previous = None
    for i, (cluster, fix) in enumerate(layouts):
        plan, folder = bench.compile(f"resume{i}", cluster, 12, "--fix", fix), bench.path(f"checkpoints{i}")
        flags = ["--steps", str(5 * (i + 1)), "--checkpoint-dir", folder] + (["--resume", previous] if previous else [])
        losses.update(bench.run(plan, *flags))
        previous = folder
    same_losses(losses, expected, "tp2 pp2 -> pp4 -> dp3 -> one rank")


def shared_files():
    return set(os.listdir("/dev/shm"))


def expect_end(process, shared, rank, what, seconds):
    begin = time.monotonic()
    try:
        _, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Failure(f"{what}: still running after {seconds} s")
    print(f"  {what}: exit {process.returncode} after {time.monotonic() - begin:.1f} s: {errors.strip().splitlines()[-1]}")
    if process.returncode != 7:
        raise Failure(f"{what}: exit code {process.returncode}, not 7: {errors}")
    if f"rank {rank}" not in errors:
        raise Failure(f"{what}: the message does not name rank {rank}: {errors}")
    if shared_files() - shared:
        raise Failure(f"{what}: left {shared_files() - shared} in /dev/shm")


def children(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        return [int(pid) for pid in file.read().split()]


def gone(pids):
    return all(not os.path.exists(f"/proc/{pid}") for pid in pids)


def start(bench, plan, *flags):
    return subprocess.Popen(bench.command(plan, *flags), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def check_lost_ranks(bench):
    plan, shared = bench.compile("lost", "cpu-4", 8, "--fix", "tp=2,pp=2"), shared_files()
    for task in ("run", "transfer", "apply", "param_gather"):
        expect_end(start(bench, plan, "--steps", "50", "--fault", f"2:2:{task}"), shared, 2, f"rank 2 killed before {task}", 60)
    process = start(bench, plan, "--steps", "100000", "--deadline", "3")
    process.stdout.readline()  # the first step is done: all workers are at work
    workers = children(process)
    ranks = {}
    for pid in workers:
        with open(f"/proc/{pid}/environ", "rb") as file:
            ranks[int(dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)[b"PLAIT_RANK"])] = pid
    os.kill(ranks[1], signal.SIGSTOP)
    expect_end(process, shared, 1, "rank 1 stopped", 60)
    if not gone(workers):
        raise Failure("rank 1 stopped: workers are still there")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for flag, meaning in (("--bin", "folder of the programs"), ("--data", "test/data"), ("--work", "folder for plans and dumps")):
        parser.add_argument(flag, required=True, help=meaning)
    parser.add_argument("check", choices=["slices", "layouts", "resume", "lost"])
    args = parser.parse_args()
    try:
        {"slices": check_slices, "layouts": check_layouts, "resume": check_resume, "lost": check_lost_ranks}[args.check](Bench(args))
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
