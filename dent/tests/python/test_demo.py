# SPDX-License-Identifier: MIT
"""The last words of `make run`, on every way in which dent ends. The reports are those that dent's reader is held to, too."""

import json
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from demo.words import Ratio, ending_of, sentence, table  # noqa: E402

NOT_RED = {0, 6, 8, 12, 15}


def ended(name, **changes):
    """A session that `name`.report.json tells of, with another ending."""
    report = json.loads((ROOT / "dent/tests/records/golden" / f"{name}.report.json").read_text())
    report["session"]["baseline"] = "onnxruntime"
    busy = changes.pop("busy", None)
    report.update(changes)
    for shape in report["comparisons"] if busy is not None else []:
        shape["busy"] = busy
        if report["exit_code"] == 15:
            shape["verdict"] = "AMBIGUOUS"
    document = {key: report.get(key, "") for key in ("verdict", "reason", "next", "exit_code")}
    return ending_of({**document, "folder": "/project/.dent/sessions/1", "report": report}, report["exit_code"])


def ratio(centre, low, high):
    return {"centre": centre, "low": low, "high": high}


BUSY = {"verdict": "BUSY MACHINE", "exit_code": 15, "busy": True}


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (ended("run"), "flashmoe is 2.0 times as fast as ONNX Runtime here (2.0 to 2.0)."),
        (ended("run", ratio=ratio(27.6, 21.9, 31.8)), "flashmoe is 28 times as fast as ONNX Runtime here (22 to 32)."),
        (ended("run", ratio=ratio(1.04, 1.02, 1.06)), "flashmoe is 1.04 times as fast as ONNX Runtime here (1.02 to 1.06)."),
        (ended("run", busy=True), "flashmoe is 2.0 times as fast as ONNX Runtime here (2.0 to 2.0), on a busy machine."),
        (ended("run", verdict="SAME", ratio=ratio(1.001, 0.996, 1.006)), "flashmoe is as fast as ONNX Runtime here (0.996 to 1.006)."),
        (ended("slower"), "flashmoe takes 1.5 times as long as ONNX Runtime here (1.5 to 1.5)."),
        (ended("slower", ratio=None, reason="STOP: 0.2x"), "flashmoe is much slower than ONNX Runtime here: STOP: 0.2x"),
        (
            ended("run", verdict="AMBIGUOUS", exit_code=8, ratio=ratio(1.0, 0.97, 1.05)),
            "Could not tell here whether flashmoe is faster than ONNX Runtime: 0.97 to 1.05 times as fast.",
        ),
        (ended("run", verdict="AMBIGUOUS", exit_code=8, ratio=None), "Could not tell here whether flashmoe is faster than ONNX Runtime."),
        (
            ended("run", **BUSY, ratio=ratio(1.6, 0.9, 3.1)),
            "Could not tell on this busy machine whether flashmoe is faster than ONNX Runtime.",
        ),
        (ended("run", **BUSY), "Could not tell on this busy machine whether flashmoe is faster than ONNX Runtime."),
    ],
)
def test_what_was_measured_is_one_sentence(ending, words):
    assert sentence(ending) == words
    assert not ending.red


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wrong", "flashmoe's kernel gives a wrong result here: 16 of 16 elements are wrong; first: y[0] is 0.19"),
        ("crash", "flashmoe's kernel gives a wrong result here: "),
        ("build_failed", "flashmoe's kernel does not build here: "),
        ("cheat", "flashmoe's kernel was caught cheating here: "),
        ("spent", "flashmoe could not be compared with ONNX Runtime here: "),
    ],
)
def test_a_wrong_result_a_failed_build_and_a_broken_gate_are_red(name, words):
    ending = ended(name)
    assert sentence(ending).startswith(words) and ending.red
    assert ending.next == ended(name).next


def test_each_shape_has_a_line():
    head, *lines = table(ended("run")).splitlines()
    assert head.split("  ")[-1].strip() == "ONNX Runtime"
    assert [line.split("  ")[0] for line in lines] == ["tiny: n=16", "small: n=64"]
    assert re.search(r"[\d.]+ us +[\d.]+ us   \d\.\d times as fast \(", lines[0])
    assert "takes 1.5 times as long (" in table(ended("slower"))
    assert table(ended("run", **BUSY)).count("could not tell") == 2


def exit_codes():
    page = (ROOT / "dent/docs/dent.md").read_text()
    rows = page.split("<!-- begin: exit codes -->")[1].split("<!-- end: exit codes -->")[0]
    return {int(code) for code in re.findall(r"^\| (\d+) \|", rows, re.MULTILINE)}


def test_every_exit_code_has_words():
    assert exit_codes() == set(range(16))
    for code in exit_codes():
        ending = ended("run", exit_code=code)
        words = sentence(ending) + table(ending)
        assert "ONNX Runtime" in words or ending.red or code == 12
        assert ending.red == (code not in NOT_RED)
        assert "fail" not in words
        # An error is a document without a report; what is killed leaves none.
        for document in ({"error": "no room on the disk\n  try: df -h", "exit_code": code}, None):
            ending = ending_of(document, code)
            assert ending.red == (code != 12)
            assert "PyTorch" in sentence(ending, "PyTorch") or code in (4, 5, 9, 10, 12)
            assert ending.next == ("df -h" if document else "")


@pytest.mark.parametrize("bound", [1.003, 0.997, 1.0004])
def test_a_bound_beside_1_does_not_read_as_1(bound):
    low, high = re.findall(r"[\d.]+", Ratio(1.0, min(bound, 1.0), max(bound, 1.0)).words()[1])
    assert (float(low) == 1) != (float(high) == 1) or abs(bound - 1) < 0.0005
