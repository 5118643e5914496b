# SPDX-License-Identifier: MIT
"""What `make test`, `make verify` and `make nightly` consist of. CONTRIBUTING.md says which command proves what."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

JOBS = os.cpu_count() or 1
# Labels of tests that `make test` leaves to `make verify` or `make nightly`.
LATER = "mutants|remote|nightly"
NOT_RUN = "not run"  # the status of a step that needs one that failed
HAS_PYTEST = ".venv/bin/python -c 'import numpy, pytest, xdist' || { echo 'skipped: NumPy, pytest or pytest-xdist is not in .venv'; exit 0; };"


@dataclass
class Step:
    name: str
    about: str
    command: str
    lane: str = "compile"  # or "run": what waits for other programs
    needs: set = field(default_factory=set)
    # Of a step with tests: the command that repeats those that failed, and where their results are.
    again: str = ""
    junit: str = ""
    programs: str = ""  # folder with the results of GoogleTest programs; one step at a time writes there
    tests: list = field(default_factory=list)
    status: object = None
    first_failures: set = field(default_factory=set)
    seconds: float = 0.0
    processor: float = 0.0

    @property
    def log(self):
        return self.name.replace(" ", "-")

    @property
    def failed(self):
        return isinstance(self.status, int) and self.status != 0

    @property
    def outcome(self):
        return {None: "not run", 0: ""}.get(self.status, "FAILED" if self.failed else str(self.status))


def ctest(name, about, preset, select, needs, part="", setting=""):
    """Tests of one build tree, or of the part of it that is one product, with a variable set. Results of earlier runs go first."""
    programs = f"build/{preset}/reports"
    tree = f"--test-dir build/{preset}/{part} --output-on-failure" if part else f"--preset {preset}"
    run = f"{setting}ctest {tree} -j {JOBS} --output-junit $PWD/build/reports/{name}.xml"
    return Step(
        name,
        about,
        f"rm -rf {programs}; {run} {select}",
        "run",
        needs,
        again=f"{run} --rerun-failed",
        junit=f"build/reports/{name}.xml",
        programs=programs,
    )


def build(name, about, preset, target="", needs=("packages",)):
    target = f" --target {target}" if target else ""
    return Step(name, about, f"make configure-{preset}; cmake --build --preset {preset} -j {JOBS}{target}", "compile", set(needs))


def has_nvcc():
    return bool(shutil.which("nvcc")) or Path("/usr/local/cuda/bin/nvcc").exists()


def has_gpu():
    if not has_nvcc() or not shutil.which("nvidia-smi"):
        return False
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


def test_steps(preset, part=""):
    """`part`: flashmoe or dent, each without the tests of the other."""
    target = f"{part}/all" if part else ""
    cuda = "ON" if preset == "cuda" else "OFF"
    python = "flashmoe/tests/python dent/tests/python" if not part else f"{part}/tests/python"
    yield build("build", "compile what this machine can run", preset, target)
    yield Step(
        "module", "compile the Python module", f"{HAS_PYTEST} FLASHMOE_CUDA={cuda} .venv/bin/python setup.py build_ext --inplace", needs={"build", "environment"}
    )
    yield ctest("tests", "C++ tests, documents, examples", preset, f"-LE '{LATER}|cuda'", {"build", "environment"}, part)
    # The tests that build something in the tree, and those that install a package, share one process.
    pytest = f".venv/bin/python -m pytest -q -rs -n {JOBS} --dist loadgroup {python}"
    yield Step(
        "python",
        "Python tests",
        f"{HAS_PYTEST} OMP_NUM_THREADS=1 {pytest} --junitxml build/reports/python.xml",
        "run",
        {"module"},
        again=f"OMP_NUM_THREADS=1 {pytest} --lf --junitxml build/reports/python.xml",
        junit="build/reports/python.xml",
    )


def verify_steps(preset):
    yield Step("format", "clang-format, ruff and words", "scripts/lint format; scripts/lint python; scripts/lint words", needs={"environment"})
    yield ctest("remote", "ssh and Slurm", preset, "-L remote", {"build", "environment"})
    yield build("mutants build", "compile kernels with mistakes", preset, "mutants", {"build"})
    yield ctest("mutants", "the model of a GPU notices each mistake", preset, "-L mutants -LE nightly", {"mutants build"})
    if has_nvcc() and preset != "cuda":
        step = build("cuda build", "compile every kernel for every GPU architecture", "cuda", "cuda_only", {"build", "environment"})
        step.command += f"; {HAS_PYTEST} FLASHMOE_CUDA=ON .venv/bin/python setup.py build_ext"
        yield step
        yield ctest("cuda", "what the CUDA compiler reports, and packages with CUDA", "cuda", "-L 'cuda|gpu'", {"cuda build"})
    yield build("asan build", "compile with AddressSanitizer and UndefinedBehaviorSanitizer", "asan")
    yield ctest("asan", "tests with them", "asan", "", {"asan build"})
    yield build("tsan build", "compile with ThreadSanitizer", "tsan")
    # library_test takes most of the time; the others share its thread pool.
    yield ctest("tsan", "tests with it", "tsan", "-E '^library_test'", {"tsan build"})
    yield build("headers", "every header compiles alone", preset, "all_verify_interface_header_sets", {"build"})
    yield Step("tidy", "clang-tidy on what changed", f"scripts/lint tidy build/{preset} --changed", needs={"build", "environment"})


def nightly_steps(preset):
    yield build("tsan build", "compile with ThreadSanitizer", "tsan")
    yield ctest("tsan all", "every test with it", "tsan", "", {"tsan build"})
    yield build("alone", "compile every source by itself, without unity builds", "alone")
    yield Step("tidy all", "clang-tidy on every source", f"scripts/lint tidy build/{preset}", needs={"build", "environment"})
    yield build("mutants build", "compile kernels with mistakes", preset, "mutants", {"build"})
    yield ctest("every case", "every mutant against every case", preset, "-L nightly", {"mutants build"})
    sweeps = "-R '^(library|backward_cpu|model)_test'"
    setting = "FLASHMOE_SWEEP=2000 GTEST_FILTER='*Sweep*:*RandomSpans*' "
    yield ctest("sweeps", "thousands of random problems against the oracle", preset, sweeps, {"build"}, setting=setting)


def steps_of(what, root):
    preset = "cuda" if has_gpu() else "release"
    deps = "scripts/install-deps" + (" --tests" if {"verify", "nightly"} & set(what) else "")
    steps = [
        Step("packages", "what is missing from the distribution's packages", deps),
        Step("environment", "a Python environment", "scripts/python-env tests", "run", {"packages"}),
    ]
    for one in what:
        if one.startswith("test"):
            steps += test_steps(preset, one.partition("-")[2])
        elif one == "verify":
            steps += verify_steps(preset)
        else:
            steps += nightly_steps(preset)
    if any("build" in step.needs for step in steps) and not any(step.name == "build" for step in steps):
        steps.insert(2, build("build", "compile what this machine can run", preset))
    unique = {step.name: step for step in steps}  # both `verify` and `nightly` compile mutants
    return list(unique.values())
