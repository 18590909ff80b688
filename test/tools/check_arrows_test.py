"""check_arrows.py finds a wrong include, a wrong link (also an indirect one), and passes a tree without them."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = sys.argv.pop()
GOOD = {
    "runtime/plan/Plan.h": '#include "runtime/plan/Layout.h"\n#include <vector>\n',
    "runtime/launcher/Launch.cpp": '#include "cost_model/simulate/Simulate.h"\n',
    "compiler/driver/Compile.cpp": '#include "passes/lower/Lower.h"\n#include "mlir/IR/Builders.h"\n',
}


class CheckArrows(unittest.TestCase):
    def check(self, files, links=None):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**GOOD, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            command = [sys.executable, SCRIPT, folder]
            if links:
                (root / "links.txt").write_text(links)
                command += ["--links", str(root / "links.txt")]
            done = subprocess.run(command, capture_output=True, text=True)
            return done.returncode, done.stdout.strip()

    def test_clean_tree(self):
        links = "plait_plan runtime/plan: \nplait_cost cost_model: plait_plan\nplait_driver compiler/driver: plait_cost MLIR\n"
        self.assertEqual(self.check({}, links), (0, ""))

    def test_runtime_includes_cost_model(self):
        code, text = self.check({"runtime/executor/Walk.cpp": '#include "cost_model/problem/Problem.h"\n'})
        self.assertEqual(code, 4)
        self.assertEqual(
            text,
            "runtime/executor/Walk.cpp: includes cost_model/problem/Problem.h, but runtime may use only runtime")

    def test_search_includes_mlir(self):
        code, text = self.check({"compiler/search/Exact.cpp": "#include <llvm/ADT/STLExtras.h>\n"})
        self.assertEqual(code, 4)
        self.assertIn("compiler/search/Exact.cpp: includes llvm/ADT/STLExtras.h", text)

    def test_dialect_includes_pass_from_tablegen(self):
        code, text = self.check({"dialects/model/Ops.td": 'include "passes/analyze/Analyze.td"\n'})
        self.assertEqual(code, 4)
        self.assertIn("but dialects may use only runtime/plan, cost_model, dialects", text)

    def test_indirect_links(self):
        links = "plait_worker tools/plait-worker: plait_mid\nplait_mid runtime/executor: plait_cost\nplait_cost cost_model: LLVM\n"
        code, text = self.check({}, links)
        self.assertEqual(code, 4)
        self.assertIn("target plait_worker links plait_cost of cost_model", text)
        self.assertIn("plait_worker: links LLVM", text)
        self.assertIn("plait_cost: links LLVM", text)


if __name__ == "__main__":
    unittest.main()
