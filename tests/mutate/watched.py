# SPDX-License-Identifier: MIT
"""A plugin for pytest: writes which blocks each test executes to $MUTATE_OUT, what is made for several
of them beside it. $MUTATE_MARKS has the marks, $MUTATE_MODULES the files that can make some."""
import json
import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from executed import Marks  # noqa: E402

marks = Marks(os.environ["MUTATE_MARKS"],
              Path(os.environ["MUTATE_MODULES"]).read_text().splitlines())
tests = []


def watched(item, phase):
    marks.forget()
    begin = time.monotonic()
    outcome = yield
    tests.append({"test": item.nodeid, "phase": phase, "passed": outcome.excinfo is None,
                  "seconds": time.monotonic() - begin, "blocks": sorted(marks.blocks())})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    yield from watched(item, "setup")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    yield from watched(item, "call")


def pytest_sessionfinish():
    Path(os.environ["MUTATE_OUT"]).write_text(json.dumps(tests))
