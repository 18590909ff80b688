# How lit runs the text tests: every test/**/*.mlir and *.test, with the built tools and LLVM's on the PATH.
import os

import lit.formats

config.name = "plait"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["data"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.plait_build_dir, "test")

config.substitutions.append(("%data", os.path.join(config.test_source_root, "data")))
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.plait_build_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
