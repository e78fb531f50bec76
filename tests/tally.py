# SPDX-License-Identifier: MIT
"""Counts test results: tally.py [--strict ALLOWED] RESULT..., each a meson testlog.json or a JUnit
XML of pytest.

Prints "PASSED FAILED SKIPPED", one line. Of a cmocka program every test function counts; a program
that dies or hangs is one failure more. With --strict a skip is a failure, told on stderr, but for
those that match a line of the file ALLOWED: "PATTERN: reason".
"""
import fnmatch
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def names_in(text, mark):
    return re.findall(rf"^\[{mark}\] (\w+)$", text, re.M)


def of_program(build, test):
    """Passed, failed, names of the skipped."""
    program = f"{build}:{test['name'].split(' / ')[-1]}"
    text = test.get("stdout", "") + test.get("stderr", "")
    passed = len(re.findall(r"^\[ +OK \] ", text, re.M))
    failed = len(set(names_in(text, "  FAILED  ")))
    skipped = [f"{program}:{name}" for name in sorted(set(names_in(text, "  SKIPPED ")))]
    if test["result"] == "SKIP":
        return 0, 0, [program]
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return (passed, 0, skipped) if passed or skipped else (1, 0, [])
    return passed, failed or 1, skipped


def meson(path):
    build = Path(path).resolve().parents[1].name
    with open(path) as log:
        return [of_program(build, json.loads(line)) for line in log if line.strip()]


def junit(path):
    counts = []
    for case in ElementTree.parse(path).iter("testcase"):
        outcomes = {child.tag for child in case}
        failed = bool(outcomes & {"failure", "error"})
        skipped = not failed and "skipped" in outcomes
        name = f"pytest:{case.get('classname', '').split('.')[-1]}:{case.get('name', '')}"
        counts.append((int(not failed and not skipped), int(failed), [name] if skipped else []))
    return counts


def read_allowed(path):
    patterns = []
    for line in Path(path).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition(": ")
        if not reason.strip():
            sys.exit(f"{path}: '{line}' gives no reason")
        patterns.append(pattern.strip())
    return patterns


def main(arguments):
    patterns = None
    if arguments[:1] == ["--strict"]:
        patterns, arguments = read_allowed(arguments[1]), arguments[2:]
    results = []
    for path in arguments:
        results += junit(path) if path.endswith(".xml") else meson(path)
    passed = sum(result[0] for result in results)
    failed = sum(result[1] for result in results)
    skipped = [name for result in results for name in result[2]]
    if patterns is not None:
        refused = [name for name in skipped
                   if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        for name in refused:
            print(f"skipped, and not in the list of what may be: {name}", file=sys.stderr)
        failed += len(refused)
        skipped = [name for name in skipped if name not in refused]
    print(passed, failed, len(skipped))


if __name__ == "__main__":
    main(sys.argv[1:])
