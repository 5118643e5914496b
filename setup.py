#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python setup.py build_ext --inplace: a thin front to the CMake build, with or without setuptools.

Builds flashmoe_science._C and puts it into python/flashmoe_science; a link in the repository's root makes
`import flashmoe_science` work there. `pip install .` is the way to install, and does not come through here.
FLASHMOE_CUDA=OFF in the environment leaves the CUDA backend out where nvcc is installed.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "python" / "flashmoe_science"
TARGET = "flashmoe_python"


def parse():
    parser = argparse.ArgumentParser(prog="setup.py", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", metavar="build_ext", required=True)
    build = commands.add_parser("build_ext", help="build the native module")
    build.add_argument("-i", "--inplace", action="store_true", help="put it into python/flashmoe_science")
    build.add_argument(
        "-j", "--parallel", type=int, default=os.cpu_count(), help="compiler processes at once"
    )
    known = ("build_ext", "-h", "--help")
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        wanted = sys.argv[1] if len(sys.argv) > 1 else "nothing"
        sys.exit(f"setup.py: asked for {wanted}; accepted is: build_ext [--inplace]\n  try: pip install .")
    return parser.parse_args()


def cuda():
    """ON or OFF: what the environment variable FLASHMOE_CUDA says, else whether nvcc is here."""
    nvcc = shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()
    return os.environ.get("FLASHMOE_CUDA") or ("ON" if nvcc else "OFF")


def build_tree():
    """The tree that `make` uses, where there is one, so that nothing is compiled twice; else a lean one."""
    options = [f"-DFLASHMOE_CUDA={cuda()}"]
    shared = ROOT / "build" / ("release" if cuda() == "OFF" else "cuda")
    if (shared / "CMakeCache.txt").exists():
        return shared, options
    options += ["-DFLASHMOE_BENCHES=OFF", "-DFLASHMOE_EXAMPLES=OFF", "-DBUILD_TESTING=OFF", "-DDENT=OFF"]
    return ROOT / "build" / "python", options


def run(*command):
    print("+", *command, flush=True)
    try:
        code = subprocess.run(command, cwd=ROOT).returncode
    except FileNotFoundError:
        sys.exit(f"setup.py: {command[0]} is not installed\n  try: scripts/install-deps")
    if code != 0:
        sys.exit(f"setup.py: {command[0]} failed with status {code}; its own message is above")


def build(jobs):
    tree, options = build_tree()
    fresh = not (tree / "CMakeCache.txt").exists()
    generator = ["-G", "Ninja"] if fresh and shutil.which("ninja") else []
    run(
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        str(tree),
        "--log-level=WARNING",
        *generator,
        *options,
        "-DFLASHMOE_PYTHON=ON",
        f"-DPython_EXECUTABLE={sys.executable}",
    )
    run("cmake", "--build", str(tree), "--target", TARGET, "--parallel", str(jobs))
    import sysconfig

    return tree / "python" / ("_C" + sysconfig.get_config_var("EXT_SUFFIX"))


def put_in_place(module):
    # A new file, then a rename: a process that has the old module loaded keeps it whole.
    scratch = PACKAGE / (module.name + ".new")
    shutil.copy2(module, scratch)
    os.replace(scratch, PACKAGE / module.name)
    link = ROOT / "flashmoe_science"
    if not link.is_symlink() and not link.exists():
        link.symlink_to(PACKAGE.relative_to(ROOT))
    print(f"built {(PACKAGE / module.name).relative_to(ROOT)}")


def main():
    arguments = parse()
    module = build(arguments.parallel)
    if arguments.inplace:
        put_in_place(module)


if __name__ == "__main__":
    main()
