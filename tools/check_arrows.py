#!/usr/bin/env python3
"""Checks that dependencies point one way: includes of the sources, links between the targets, libraries of the binaries.

usage: check_arrows.py SOURCE [--links FILE] [--binary FILE ...]

--links is the link graph that test/tools/CMakeLists.txt writes, one "target folder: dependency ..." a line. Each --binary
must need no LLVM or MLIR library. Exit code 4 and one line per violation if something points the wrong way.
"""
import argparse
import pathlib
import re
import subprocess
import sys

PLAN, COST, RUNTIME = "runtime/plan", "cost_model", "runtime"
IR = [PLAN, COST, "dialects"]
ALL = [RUNTIME, COST, "dialects", "passes", "compiler", "tools"]
# Folder -> folders that it may use, itself included; the longest matching folder decides.
MAY_USE = {
    PLAN: [PLAN],
    RUNTIME: [RUNTIME],
    "runtime/launcher": [RUNTIME, COST],
    "runtime/resilience": [RUNTIME, COST],
    COST: [PLAN, COST],
    "dialects": IR,
    "passes": IR + ["passes"],
    "compiler": IR + ["passes", "compiler"],
    "compiler/search": [PLAN, COST, "compiler/search"],
    "tools": ALL,
    "tools/plait-worker": [RUNTIME, "tools/plait-worker"],
}
WITHOUT_MLIR = [RUNTIME, COST, "compiler/search", "tools/plait-worker"]
INCLUDE = re.compile(r'^\s*#?\s*include\s+[<"]([^">]+)[">]', re.MULTILINE)


def inside(path, folder):
    return path == folder or path.startswith(folder + "/")


def rules_for(path):
    folder = max((f for f in MAY_USE if inside(path, f)), key=len)
    return folder, MAY_USE[folder]


def check_use(user, used, what):
    """The complaint if `user` may not use the file or folder `used`, or None."""
    folder, allowed = rules_for(user)
    if any(inside(used, f) for f in allowed):
        return None
    return f"{user}: {what} {used}, but {folder} may use only {', '.join(allowed)}"


def check_includes(source):
    files = [p for top in ALL for p in sorted((source / top).rglob("*")) if p.suffix in (".h", ".cpp", ".td", ".inc")]
    for path in files:
        name = path.relative_to(source).as_posix()
        for include in INCLUDE.findall(path.read_text(errors="replace")):
            top = include.split("/")[0]
            if top in ("mlir", "llvm", "mlir-c", "llvm-c"):
                if any(inside(name, f) for f in WITHOUT_MLIR):
                    yield f"{name}: includes {include}, but this folder builds without MLIR and LLVM"
            elif top in ALL:
                complaint = check_use(name, include, "includes")
                if complaint:
                    yield complaint
    if not files:
        yield f"{source}: no sources found"


def read_links(path):
    """Target -> (folder, direct dependencies)."""
    graph = {}
    for line in path.read_text().splitlines():
        head, _, dependencies = line.partition(":")
        target, folder = head.split()
        graph[target] = (folder, dependencies.split())
    return graph


def check_links(graph):
    """Every target that a target reaches, directly or not, must lie in a folder that it may use."""
    for target, (folder, direct) in sorted(graph.items()):
        if folder.split("/")[0] not in ALL:
            continue  # tests may link anything
        reached, queue = set(), list(direct)
        while queue:
            name = queue.pop()
            if name not in reached:
                reached.add(name)
                queue += graph.get(name, ("", []))[1]
        for name in sorted(reached):
            if name in ("MLIR", "LLVM"):
                if any(inside(folder, f) for f in WITHOUT_MLIR):
                    yield f"{target}: links {name}, but {folder} builds without MLIR and LLVM"
            elif name in graph:
                complaint = check_use(folder, graph[name][0], f"target {target} links {name} of")
                if complaint:
                    yield complaint


def check_binary(path):
    needed = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", needed):
        if re.match(r"lib(MLIR|LLVM)", library):
            yield f"{path}: needs {library}, but must start on a machine without LLVM"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--links", type=pathlib.Path)
    parser.add_argument("--binary", type=pathlib.Path, action="append", default=[])
    args = parser.parse_args()
    complaints = list(check_includes(args.source))
    if args.links:
        complaints += check_links(read_links(args.links))
    for binary in args.binary:
        complaints += check_binary(binary)
    for complaint in complaints:
        print(complaint)
    return 4 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
