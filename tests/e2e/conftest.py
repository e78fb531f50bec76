# SPDX-License-Identifier: MIT
import pytest

from browser import Browser
from support import BUILD, run


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """hipboard installed where it was not configured to be, under a path with a blank."""
    destination = tmp_path_factory.mktemp("install") / "pre fix"
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", destination)
    [header] = destination.glob("**/include/hipboard/hipboard.h")
    return header.parents[2]


@pytest.fixture(scope="session")
def browser():
    browser = Browser()
    yield browser
    browser.close()
