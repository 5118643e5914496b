# SPDX-License-Identifier: MIT
"""A plugin of pytest for scripts/run-public-tests: what is refused by name is counted apart from what fails."""

import collections
import random
import re

import pytest

refused = collections.Counter()


def pytest_addoption(parser):
    parser.addoption("--sample", type=int, help="run that many tests, drawn from all")
    parser.addoption("--rows", type=int, help="leave out tests with more rows or keys")


def _too_long(item, rows):
    parameters = getattr(item, "callspec", None)
    values = parameters.params.items() if parameters is not None else ()
    return any("seqlen" in name and isinstance(value, int) and value > rows for name, value in values)


@pytest.hookimpl(trylast=True)  # behind -k
def pytest_collection_modifyitems(config, items):
    if config.option.rows:
        items[:] = [item for item in items if not _too_long(item, config.option.rows)]
    if config.option.sample and config.option.sample < len(items):
        chosen = random.Random(0).sample(range(len(items)), config.option.sample)
        items[:] = [items[i] for i in sorted(chosen)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.excinfo is not None and call.excinfo.errisinstance(NotImplementedError):
        feature = re.search(r"(\w+) is not supported yet", str(call.excinfo.value))
        if feature:
            refused[feature[1]] += 1
            report.outcome = "skipped"
            report.longrepr = (str(item.path), item.location[1] or 0, f"refused: {feature[1]}")


def pytest_terminal_summary(terminalreporter):
    counts = {
        kind: len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "failed", "error", "skipped")
    }
    total = sum(refused.values())
    by_name = ", ".join(f"{name} {count}" for name, count in refused.most_common())
    terminalreporter.write_line(
        f"passed {counts['passed']}, failed {counts['failed'] + counts['error']}, refused {total}"
        f"{f' ({by_name})' if by_name else ''}, skipped by the tests themselves {counts['skipped'] - total}"
    )
