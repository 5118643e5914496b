# SPDX-License-Identifier: MIT
"""A plugin of pytest for scripts/run-public-tests: all tests run with PyTorch's attention computed by flashmoe."""

import flashmoe_science

account = flashmoe_science.activate()


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(str(account))
