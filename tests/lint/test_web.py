# SPDX-License-Identifier: MIT
"""Rules of the page's own files: texts stay texts, nothing is asked of the internet, all are built in."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "src/analysis/page/web").iterdir())
# What makes markup or code of a text, and what asks others.
FORBIDDEN = re.compile(r"innerHTML|outerHTML\s*=[^=]|insertAdjacentHTML|document\.write|\beval\(|new Function|"
                       r"setAttribute\('style'|javascript:|https?://|url\((?!#)|@import|import\(")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_texts_stay_texts_and_nothing_is_asked_of_the_internet(file):
    wrong = [f"{number}: {line.strip()}" for number, line in enumerate(file.read_text().splitlines(), 1)
             if FORBIDDEN.search(line)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text, wrong", [("a.innerHTML = b", True), ("root.outerHTML}", False),
                                         ("a.outerHTML = b", True), ("fetch('https://x')", True),
                                         ("import { h } from './h.js';", False)])
def test_the_rule_itself(text, wrong):
    assert bool(FORBIDDEN.search(text)) == wrong


def test_the_page_is_built_anew_when_one_of_them_changes():
    listed = re.findall(r"'page/web/([\w.]+)'", (ROOT / "src/analysis/meson.build").read_text())
    assert listed == [file.name for file in FILES]
