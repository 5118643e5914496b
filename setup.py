#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python setup.py build_ext --inplace: a thin front to the CMake build, with or without setuptools.

Builds flashmoe_science._C and puts it into flashmoe/python/flashmoe_science; a link in the repository's root makes
`import flashmoe_science` work there. `pip install .` is the way to install, and does not come through here.
FLASHMOE_CUDA=OFF and FLASHMOE_HIGHWAY=OFF in the environment leave a backend out where it could be built.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PACKAGE = ROOT / "flashmoe" / "python" / "flashmoe_science"

sys.path.insert(0, str(PACKAGE.parent))
from wheel_version import cuda_label


def parse():
    usage = "setup.py build_ext [--inplace] [--parallel N]; to install: pip install ."
    parser = argparse.ArgumentParser(usage=usage, description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(metavar="build_ext", required=True)
    build = commands.add_parser("build_ext", usage=usage, help="build the native module")
    build.add_argument("-i", "--inplace", action="store_true", help="put it into flashmoe/python/flashmoe_science")
    build.add_argument(
        "-j", "--parallel", type=int, default=os.cpu_count(), help="compiler processes at once"
    )
    return parser.parse_args()


def run(*command):
    print("+", *command, flush=True)
    try:
        code = subprocess.run(command, cwd=ROOT).returncode
    except FileNotFoundError:
        sys.exit(f"setup.py: {command[0]} is not installed\n  try: scripts/install-deps")
    if code != 0:
        sys.exit(f"setup.py: {command[0]} failed with status {code}; its own message is above")


def build(jobs):
    """Gives the built module. The tree is that of `make`, where there is one, so that nothing is compiled twice."""
    cuda = "ON" if cuda_label() else "OFF"
    options = [f"-DFLASHMOE_CUDA={cuda}", "-DFLASHMOE_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]
    options.append(f"-DFLASHMOE_HIGHWAY={os.environ.get('FLASHMOE_HIGHWAY', 'ON')}")
    tree = ROOT / "build" / ("cuda" if cuda == "ON" else "release")
    if not (tree / "CMakeCache.txt").exists():
        tree = ROOT / "build" / "python"
        options += ["-DFLASHMOE_BENCHES=OFF", "-DFLASHMOE_EXAMPLES=OFF", "-DBUILD_TESTING=OFF", "-DDENT=OFF"]
    if not (tree / "CMakeCache.txt").exists() and shutil.which("ninja"):
        options.append("-GNinja")
    run("cmake", "-S", str(ROOT), "-B", str(tree), "--log-level=WARNING", *options)
    run("cmake", "--build", str(tree), "--target", "flashmoe_python", "--parallel", str(jobs))
    return tree / "flashmoe" / "python" / ("_C" + sysconfig.get_config_var("EXT_SUFFIX"))


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
