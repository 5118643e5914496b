# SPDX-License-Identifier: MIT
"""Results of tests, from JUnit files: of ctest, of the GoogleTest programs that it starts, of pytest."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Test:
    name: str
    seconds: float
    outcome: str  # "passed", "failed" or "skipped"


def cases(file):
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError):  # the program crashed before it wrote its results
        return
    for case in root.iter("testcase"):
        if case.get("status") == "notrun" and case.find("skipped") is None:
            continue  # a test of another shard
        skipped = case.find("skipped") is not None or case.get("result") == "skipped"
        broken = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
        owner = case.get("classname") or ""
        name = case.get("name") if owner in ("", case.get("name")) else f"{owner}.{case.get('name')}"
        outcome = "failed" if broken else "skipped" if skipped else "passed"
        yield Test(name, float(case.get("time") or 0), outcome)


def tests_of(step):
    """Every test of a step: of a GoogleTest program its TESTs, and itself only where it failed without one of them failing."""
    if not step.junit:
        return []
    found = []
    for test in cases(step.junit):
        inside = list(cases(Path(step.programs) / f"{test.name}.xml")) if step.programs else []
        crashed = test.outcome == "failed" and not any(t.outcome == "failed" for t in inside)
        found += inside
        if crashed or not inside:
            found.append(test)
    return found


def merged(first, second):
    """Tests of a run and of the one that repeated those that failed."""
    repeated = {test.name for test in second}
    return [test for test in first if test.outcome != "failed" and test.name not in repeated] + second


class Results:
    """What all steps found. A test that failed and then passed is flaky: the run may be green, but it says so."""

    def __init__(self, steps):
        self.tests, self.flaky = [], []
        for step in steps:
            self.tests += [(step.name, test) for test in step.tests]
            bad = {test.name for test in step.tests if test.outcome == "failed"}
            self.flaky += [(step.name, name) for name in sorted(step.first_failures - bad)]
        self.failed = [(step, test) for step, test in self.tests if test.outcome == "failed"]

    def count(self, outcome):
        return sum(test.outcome == outcome for _, test in self.tests)

    def report(self):
        lines = []
        dearest = sorted(self.tests, key=lambda row: -row[1].seconds)[:10]
        if dearest:
            lines += ["", "the tests that took longest:"]
            lines += [f"{test.seconds:8.1f} s  {step}: {test.name}" for step, test in dearest]
        if self.flaky:
            lines += ["", "FLAKY (failed, then passed when repeated; please repair):"]
            lines += [f"  {step}: {name}" for step, name in self.flaky]
        if self.failed:
            lines += ["", "FAILED:"]
            lines += [f"  {step}: {test.name}" for step, test in self.failed]
        skipped = self.count("skipped")
        lines += ["", f"{skipped} skipped" if skipped else ""]
        lines += [f"{self.count('passed')} passed, {self.count('failed')} failed"]
        return "\n".join(lines)
