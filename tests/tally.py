# SPDX-License-Identifier: MIT
"""Counts test results: tally.py [--strict ALLOWED] RESULT..., each a meson testlog.json or a JUnit
XML of pytest.

Prints "PASSED FAILED SKIPPED", one line. Of a cmocka program every test function counts; a program
that dies or hangs is one failure more. Each failure's name and the end of what it said stand on
stderr, so that the last lines of a long run tell what is wrong. With --strict a skip is a failure,
but for those that match a line of the file ALLOWED: "PATTERN: reason".
"""
import fnmatch
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

TOLD_LINES = 30  # of a failure's output


def names_in(text, mark):
    return re.findall(rf"^\[{mark}\] (\w+)$", text, re.M)


def of_program(build, test):
    """Passed, names of the failed, names of the skipped, what was said."""
    program = f"{build}:{test['name'].split(' / ')[-1]}"
    text = test.get("stdout", "") + test.get("stderr", "")
    passed = len(re.findall(r"^\[ +OK \] ", text, re.M))
    failed = [f"{program}:{name}" for name in sorted(set(names_in(text, "  FAILED  ")))]
    skipped = [f"{program}:{name}" for name in sorted(set(names_in(text, "  SKIPPED ")))]
    if test["result"] == "SKIP":
        return 0, [], [program], ""
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return (passed, [], skipped, "") if passed or skipped else (1, [], [], "")
    return passed, failed or [program], skipped, text


def meson(path):
    build = Path(path).resolve().parents[1].name
    with open(path) as log:
        return [of_program(build, json.loads(line)) for line in log if line.strip()]


def junit(path):
    results = []
    for case in ElementTree.parse(path).iter("testcase"):
        wrong = [child for child in case if child.tag in ("failure", "error")]
        name = f"pytest:{case.get('classname', '').split('.')[-1]}:{case.get('name', '')}"
        if wrong:
            results.append((0, [name], [], wrong[0].text or wrong[0].get("message", "")))
        elif case.find("skipped") is not None:
            results.append((0, [], [name], ""))
        else:
            results.append((1, [], [], ""))
    return results


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
    failed = sum(len(result[1]) for result in results)
    for _, names, _, said in results:
        if names:
            print("failed:", *names, *said.splitlines()[-TOLD_LINES:], sep="\n    ", file=sys.stderr)
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
