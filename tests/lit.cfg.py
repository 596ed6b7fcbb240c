"""lit: every .edl, .eir, .sched, .test and .py below tests/ is a test that
carries its own RUN lines. Folders named Inputs hold no tests."""
import os
import platform
import shutil
import lit.formats

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(root, lit_config.params.get("build", "build"))

config.name = "edlc"
config.test_format = lit.formats.ShTest(execute_external=True)
config.suffixes = [".edl", ".eir", ".sched", ".test"]
config.excludes = ["Inputs", "unit"]
config.test_source_root = os.path.join(root, "tests")
config.test_exec_root = os.path.join(build, "tests")
config.environment["PATH"] = os.pathsep.join(
    [build, "/usr/lib/llvm-14/bin", os.environ["PATH"]])
config.environment["LC_ALL"] = "C"
for name in ("CC", "CXX", "EDLC_LONG"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions += [
    ("%edlc", os.path.join(build, "edlc")),
    ("%unit", os.path.join(build, "tests", "unit")),
    ("%fuzz", os.path.join(build, "fuzz")),
    ("%root", root),
    ("%samples", os.path.join(root, "samples")),
    ("%shared", os.path.join(os.path.dirname(root), "shared")),
    ("%python", "/usr/bin/python3"),
]
if os.path.isdir(os.path.join(os.path.dirname(root), "shared", "cases")):
    config.available_features.add("shared")
for tool in ("nvcc", "cmake"):
    if shutil.which(tool):
        config.available_features.add(tool)
if platform.machine() == "x86_64":
    config.available_features.add("x86_64")
if shutil.which("aarch64-linux-gnu-gcc") and shutil.which("qemu-aarch64"):
    config.available_features.add("aarch64")
if shutil.which("chromium"):
    config.available_features.add("chromium")
if os.path.isdir(os.path.join(build, "fuzz")):
    config.available_features.add("fuzz")
