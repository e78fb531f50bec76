# SPDX-License-Identifier: MIT
"""Counts test results: tally.py RESULT..., each a meson testlog.json or a JUnit XML of pytest.

Prints "PASSED FAILED SKIPPED", one line. Of a cmocka program every test function counts; a program
that dies or hangs is one failure more.
"""
import json
import re
import sys
import xml.etree.ElementTree as ElementTree


def count_program(test):
    text = test.get("stdout", "") + test.get("stderr", "")
    passed = len(re.findall(r"^\[ +OK \] ", text, re.M))
    failed = len(set(re.findall(r"^\[  FAILED  \] (\w+)$", text, re.M)))
    skipped = len(set(re.findall(r"^\[  SKIPPED \] (\w+)$", text, re.M)))
    result = test["result"]
    if result == "SKIP":
        return 0, 0, 1
    if result in ("OK", "EXPECTEDFAIL"):
        return (passed, 0, skipped) if passed + skipped else (1, 0, 0)
    return passed, failed or 1, skipped


def meson(path):
    with open(path) as log:
        return [count_program(json.loads(line)) for line in log if line.strip()]


def junit(path):
    counts = []
    for case in ElementTree.parse(path).iter("testcase"):
        outcomes = {child.tag for child in case}
        failed = bool(outcomes & {"failure", "error"})
        skipped = not failed and "skipped" in outcomes
        counts.append((int(not failed and not skipped), int(failed), int(skipped)))
    return counts


def main(paths):
    counts = []
    for path in paths:
        counts += junit(path) if path.endswith(".xml") else meson(path)
    print(*(sum(column) for column in zip((0, 0, 0), *counts)))


if __name__ == "__main__":
    main(sys.argv[1:])
