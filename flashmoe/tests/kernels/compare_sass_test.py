# SPDX-License-Identifier: MIT
"""usage: compare_sass_test.py SCRIPT BUILD: scripts/compare-sass finds what it should, in objects of a build with CUDA."""

import pathlib
import shutil
import subprocess
import sys
import tempfile


def main(script, build):
    kernel = next(pathlib.Path(build, "flashmoe/src").rglob("combine_splits/launch.cu.o"))
    with tempfile.TemporaryDirectory() as folder:
        old, new = (pathlib.Path(folder, name) for name in ("old", "new"))

        def expect(status, words):
            ran = subprocess.run([script, old, new], capture_output=True, text=True)
            if ran.returncode != status or words not in ran.stdout + ran.stderr:
                raise SystemExit(f"expected {status} and '{words}', got {ran.returncode} and\n{ran.stdout}{ran.stderr}")

        expect(2, "no kernels in")
        for tree, name in (old, "before"), (new, "after"):
            pathlib.Path(tree, "flashmoe/src", name).mkdir(parents=True)
            shutil.copy(kernel, pathlib.Path(tree, "flashmoe/src", name, name + ".cu.o"))
        expect(0, "the same in both")  # wherever the object lies

        # One instruction's byte: cubins begin with the ELF magic, and their kernels' code lies in them as it is.
        moved = pathlib.Path(new, "flashmoe/src/after/after.cu.o")
        bytes_ = bytearray(moved.read_bytes())
        cubin = bytes_.index(b"\x7fELF", 4)
        at = cubin + text_offset(bytes_[cubin:])
        bytes_[at + 8] ^= 1
        moved.write_bytes(bytes_)
        expect(1, "1 are in OLD alone")
        moved.unlink()
        shutil.copytree(pathlib.Path(old, "flashmoe"), pathlib.Path(new, "flashmoe"), dirs_exist_ok=True)
        shutil.copy(kernel, moved)
        expect(1, "0 are in OLD alone")  # as many of each as before, not only the same ones


def text_offset(cubin):
    """Where the code of its first kernel begins: the first section that is executable."""
    table = int.from_bytes(cubin[0x28:0x30], "little")
    size, count = (int.from_bytes(cubin[i : i + 2], "little") for i in (0x3A, 0x3C))
    for i in range(count):
        header = cubin[table + i * size : table + (i + 1) * size]
        if int.from_bytes(header[8:16], "little") & 4:
            return int.from_bytes(header[24:32], "little")
    raise SystemExit("a cubin without code")


main(*sys.argv[1:])
