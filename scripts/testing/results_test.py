#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What run-tests counts and tells: GoogleTest programs inside ctest, crashes, skipped and flaky tests."""

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from testing.results import Results, Test, merged, tests_of
from testing.steps import Step, steps_of

CTEST = """<testsuite>
<testcase name="math_test.0" classname="math_test.0" time="2" status="{math}">{failure}</testcase>
<testcase name="Docs.Page" classname="Docs.Page" time="1" status="run"/>
<testcase name="Gpu.Page" classname="Gpu.Page" time="0" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
</testsuite>"""
PROGRAM = """<testsuites><testsuite name="Sum">
<testcase name="OfNothingIsZero" classname="Sum" time="0.5" status="run" result="completed">{failure}</testcase>
<testcase name="NeedsAGpu" classname="Sum" time="0" status="run" result="skipped"><skipped message="no GPU"/></testcase>
<testcase name="OfAnotherShard" classname="Sum" time="0" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


class ResultsTest(unittest.TestCase):
    def step(self, program, math="run", failure=""):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "ctest.xml").write_text(CTEST.format(math=math, failure=failure))
        if program is not None:
            (folder / "math_test.0.xml").write_text(program)
        step = Step("tests", "", "", junit=str(folder / "ctest.xml"), programs=str(folder))
        step.tests = tests_of(step)
        return step

    def outcomes(self, step):
        return {test.name: test.outcome for test in step.tests}

    def test_a_program_counts_as_its_tests(self):
        found = self.outcomes(self.step(PROGRAM.format(failure="")))
        self.assertEqual(
            found,
            {"Sum.OfNothingIsZero": "passed", "Sum.NeedsAGpu": "skipped", "Docs.Page": "passed", "Gpu.Page": "skipped"},
        )

    def test_a_failure_inside_a_program_is_named(self):
        found = self.outcomes(self.step(PROGRAM.format(failure="<failure/>"), "fail", "<failure/>"))
        self.assertEqual(found["Sum.OfNothingIsZero"], "failed")
        self.assertNotIn("math_test.0", found)

    def test_a_program_that_crashes_has_failed(self):
        self.assertEqual(self.outcomes(self.step(None, "fail", "<failure/>"))["math_test.0"], "failed")
        self.assertEqual(self.outcomes(self.step("<testsuites><unfinished", "fail", "<failure/>"))["math_test.0"], "failed")
        # All that it wrote had passed before it crashed.
        self.assertEqual(self.outcomes(self.step(PROGRAM.format(failure=""), "fail", "<failure/>"))["math_test.0"], "failed")

    def test_what_failed_once_is_flaky_and_what_failed_twice_has_failed(self):
        passed = self.step(PROGRAM.format(failure=""))
        passed.first_failures = {"Sum.OfNothingIsZero"}
        results = Results([passed])
        self.assertFalse(results.failed)
        self.assertIn("FLAKY", results.report())
        self.assertIn("tests: Sum.OfNothingIsZero", results.report())
        # A shard that is repeated replaces its own results; a crash that did not happen again is forgotten.
        crashed = [Test("math_test.0", 0, "failed"), Test("Docs.Page", 1, "passed")]
        both = {test.name: test.outcome for test in merged(crashed, tests_of(passed))}
        self.assertNotIn("math_test.0", both)
        self.assertEqual(both["Docs.Page"], "passed")
        failed = self.step(PROGRAM.format(failure="<failure/>"), "fail", "<failure/>")
        failed.first_failures = {"Sum.OfNothingIsZero"}
        results = Results([failed])
        self.assertEqual(len(results.failed), 1)
        self.assertNotIn("FLAKY", results.report())
        self.assertEqual(results.report().splitlines()[-1], "1 passed, 1 failed")


class StepsTest(unittest.TestCase):
    def test_every_need_is_a_step(self):
        for what in (["test"], ["test-flashmoe"], ["test-dent"], ["verify"], ["test", "verify"], ["nightly"], ["verify", "nightly"]):
            steps = steps_of(what, Path("."))
            names = [step.name for step in steps]
            self.assertEqual(len(names), len(set(names)), what)
            for step in steps:
                self.assertLessEqual(step.needs, set(names), (what, step.name))


if __name__ == "__main__":
    unittest.main()
