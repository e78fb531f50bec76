# SPDX-License-Identifier: MIT
import signal

import pytest

from browser import Browser
from server import TensorBoard
from support import BUILD, DigitsRun, alone_in, install

# Where a shell runs the tests in the background they are ignored, and would be by what they start.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """hipboard installed where it was not configured to be, under a path with a blank."""
    destination = tmp_path_factory.mktemp("install") / "pre fix"
    with alone_in(BUILD):
        install(destination)
    [header] = destination.glob("**/include/hipboard/hipboard.h")
    return header.parents[2]


@pytest.fixture(scope="session")
def browser():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """Two trainings below one log directory, one with plain and one with gzipped traces."""
    logdir = tmp_path_factory.mktemp("digits") / "runs"
    logdir.mkdir()
    return {
        "workers0": DigitsRun(logdir / "workers0", "--workers", 0),
        "workers2": DigitsRun(logdir / "workers2", "--workers", 2, "--gzip", "--with-stack"),
    }


@pytest.fixture(scope="session")
def board(digits, tmp_path_factory):
    """A TensorBoard that has loaded both trainings."""
    logdir = digits["workers0"].directory.parent
    with TensorBoard(logdir, tmp_path_factory.mktemp("log") / "tensorboard.log") as board:
        yield board.wait_until_loaded()
