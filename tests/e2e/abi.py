# SPDX-License-Identifier: MIT
"""The binary interface: what the public headers lay down, and what the libraries export. Stored for
a release by

    python3 tests/e2e/abi.py include > tests/data/abi/<release>/layout.txt
"""
import re
import sys
import tempfile
from pathlib import Path

HEADERS = ["hipboard.h", "comm.h", "event_log.h", "analysis.h", "compare.h", "convert.h", "export.h", "import.h", "pack.h", "page.h", "ranks.h"]


def headers(include):
    """Those that the release had."""
    return [header for header in HEADERS if (Path(include) / "hipboard" / header).exists()]


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def structs(include):
    """{name: its members' names, in order} of all public structs."""
    found = {}
    for header in headers(include):
        text = without_comments((Path(include) / "hipboard" / header).read_text())
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, re.S):
            found[name] = [member for declaration in body.split(";")
                           for member in members(declaration)]
    return found


def members(declaration):
    """Of "bool (*fn)(int a, int b)" fn, of "char pid[32], *tid" pid and tid."""
    function = re.search(r"\(\*(\w+)\)\s*\(", declaration)
    if function:
        return [function[1]]
    return [re.search(r"(\w+)\s*(?:\[\w*\])?\s*$", part)[1]
            for part in declaration.split(",") if part.strip()]


def constants(include):
    """Enumerators that stand as such, and those that the two lists of names make."""
    names = set()
    for header in headers(include):
        text = without_comments((Path(include) / "hipboard" / header).read_text())
        for body in re.findall(r"\benum\b[^;{]*\{(.*?)\}", text, re.S):
            names |= set(re.findall(r"^\s*(HB_[A-Z0-9_]+)\b(?!\()", body, re.M))
            names |= set(re.findall(r",\s*(HB_[A-Z0-9_]+)\b(?!\()", body))
        for macro, body in re.findall(r"#define HB_(RESULT|DTYPE)_MAP\(X\)(.*?[^\\])\n", text, re.S):
            names |= {f"HB_{name}" for name in re.findall(r"X\((\w+),", body)}
    return sorted(name for name in names if not name.endswith(("_MAP", "_ENUM")))


def layout(include, run):
    """Lines: "struct hb_x 40", "hb_x.member 8 4" (offset, size), "HB_NAME 3"."""
    lines = ["#include <stdio.h>", *(f"#include <hipboard/{header}>" for header in headers(include)),
             "int main(void)", "{"]
    for struct, names in structs(include).items():
        lines.append(f'printf("struct {struct} %zu\\n", sizeof({struct}));')
        lines += [f'printf("{struct}.{name} %zu %zu\\n", offsetof({struct}, {name}), '
                  f"sizeof((({struct} *)0)->{name}));" for name in names]
    lines += [f'printf("{name} %lld\\n", (long long)({name}));' for name in constants(include)]
    with tempfile.TemporaryDirectory() as directory:
        source, program = Path(directory) / "layout.c", Path(directory) / "layout"
        source.write_text("\n".join([*lines, "return 0;", "}", ""]))
        run("cc", "-std=gnu11", "-I", include, source, "-o", program)
        return run(program).splitlines()


def exports(library, run):
    """"hb_x@HIPBOARD_0", sorted; without what is for libraries of the same build alone."""
    names = re.findall(r" [A-TV-Z] (\w+)@@(\w+)", run("nm", "-D", "--defined-only", library))
    return sorted(f"{name}@{node}" for name, node in names if node.startswith("HIPBOARD_")
                  and "PRIVATE" not in node)


if __name__ == "__main__":
    from support import run as run_command

    print("\n".join(layout(sys.argv[1], run_command)))
