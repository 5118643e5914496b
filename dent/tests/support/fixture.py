# SPDX-License-Identifier: MIT
"""A fixture as a program, so that tests in any language can use it.

It prints facts, one `name value` a line, then `ready`. Each line on stdin is a method's name and its arguments; the answer is
`ok`, `ok TEXT` or `error: TEXT`. When stdin ends, all that it has started ends. Where it can't run it prints `skip: why`.
"""

import signal
import sys
import unittest

from machine import Unavailable


def serve(make, methods):
    """`make()` gives a context manager with facts(); `methods` are those that may be called."""
    signal.signal(signal.SIGTERM, lambda *ignored: sys.exit(0))
    try:
        with make() as fixture:
            for name, value in fixture.facts().items():
                print(name, value)
            print("ready", flush=True)
            for line in sys.stdin:
                name, *arguments = line.split()
                try:
                    if name not in methods:
                        raise ValueError(f"{name} is not one of {', '.join(methods)}")
                    answer = getattr(fixture, name)(*arguments)
                    print("ok" if answer is None else f"ok {answer}", flush=True)
                except Exception as problem:  # noqa: BLE001: whoever asked gets to see it
                    print(f"error: {problem!r}", flush=True)
    except Unavailable as why:
        print(f"skip: {why}", flush=True)


def run_tests():
    """For a file of tests: exits 77, for ctest, when all of them were skipped."""
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.skipped and len(result.skipped) >= result.testsRun else 0)
