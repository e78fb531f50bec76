#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Code lines, without comments and blank lines, of the functions that a revision had, then and now:

    python3 tests/bench/code_lines.py 009b955 [NOW]

A function is followed by its name, where only one has it then and only one now; one that is gone may be there under
another name, with most of the words of its body, and else has gone into others, whose lines are counted."""
import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def functions(text):
    """(name, lines of its head and body, its words) of each, as clang-format lays them out."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    lines = text.split("\n")
    for begin in (i for i, line in enumerate(lines) if line == "{"):
        end = lines.index("}", begin)
        head = begin
        while head and lines[head - 1].strip() and not re.search(r"^[#}]|[;}]$", lines[head - 1]):
            head -= 1
        name = re.search(r"(\w+)\(", re.sub(r"\b(HB_PRINTF|__attribute__)\(.*?\)+", "", " ".join(lines[head:begin])))
        body = [line for line in lines[head:end + 1] if line.strip()]
        yield name[1] if name else "", len(body), Counter(re.findall(r"\w+", " ".join(lines[begin:end])))


def of_revision(revision):
    found = defaultdict(list)
    for path in git("ls-tree", "-r", "--name-only", revision, "src").split():
        if path.endswith(".c"):
            for name, lines, words in functions(git("show", f"{revision}:{path}")):
                found[name].append((lines, words))
    return found


def likeness(a, b):
    return sum((a & b).values()) / max(1, sum((a | b).values()))


def renamed(old, fresh):
    """The lines of the function without a namesake then that has most of the old one's words; 0: none."""
    lines, words = old
    near = [(likeness(words, other), now) for now, other in fresh if now * 2 >= lines and now <= lines * 2]
    best = max(near, default=(0, 0))
    return best[1] if best[0] > 0.6 else 0


def main():
    then, now = of_revision(sys.argv[1]), of_revision(sys.argv[2] if len(sys.argv) > 2 else "HEAD")
    for label, of in ((sys.argv[1], then), ("now", now)):
        all_of = [lines for each in of.values() for lines, _ in each]
        print(f"{label}: {len(all_of)} functions, {sum(all_of)} lines, median {statistics.median(all_of):.0f}")
    fresh = [one for name, each in now.items() if name not in then for one in each]
    followed = {name: each[0] for name, each in then.items() if len(each) == 1 and len(now.get(name, "1")) == 1}
    kept = {name: now[name][0][0] for name in followed if name in now}
    moved = {name: lines for name, old in followed.items() if name not in now and (lines := renamed(old, fresh))}
    print(f"followed: {len(followed)} functions, {sum(lines for lines, _ in followed.values())} lines; now "
          f"{len(kept)} by their names and {len(moved)} by others, {sum(kept.values()) + sum(moved.values())} lines; "
          f"{len(followed) - len(kept) - len(moved)} have gone into others")


if __name__ == "__main__":
    main()
