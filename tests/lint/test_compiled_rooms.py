# SPDX-License-Identifier: MIT
"""The rooms as the compiler and the linker see them: which folders a source is compiled with, which files it comes
to read, and whose functions it calls."""
import functools
import json
import os
import re
import subprocess
from pathlib import Path

from test_tree import ALLOWED, ROOMS, ROOT

BUILD = Path(os.environ.get("HB_BUILD", ROOT / "build"))
ORDER = list(ALLOWED)
APART = {"comm", "openmp"}  # libraries of their own, which call the public interface


@functools.cache
def objects():
    """{object file: (its source, the folders of src that it is compiled with)}."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        base = Path(entry["directory"])
        source = Path(os.path.normpath(base / entry["file"]))
        if source.is_relative_to(ROOT / "src"):
            folders = {Path(os.path.normpath(base / path)) for path in re.findall(r"-I(\S+)", entry["command"])}
            found[entry["output"]] = source, {path for path in folders if path.is_relative_to(ROOT / "src")}
    return found


def room_of(path):
    return path.relative_to(ROOT / "src").parts[1]


def later(room, other):
    return other in ORDER and ORDER.index(other) > ORDER.index(room)


def test_a_source_is_compiled_with_its_own_side_and_common():
    wrong = []
    for source, folders in objects().values():
        side = source.relative_to(ROOT / "src").parts[0]
        if source.name == "error.c":  # of which only the recorder has one
            side = "recorder"
        wrong += [f"{source.relative_to(ROOT)}: -I{path.relative_to(ROOT)}" for path in folders
                  if path not in (ROOT / "src/common", ROOT / "src" / side)]
    assert len(objects()) > 300 and not wrong, "\n".join(wrong)


def test_what_the_compiler_reads_stands_above():
    listing = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    wrong, read = set(), 0
    for part in re.split(r"\n(?=\S)", listing):
        head, *lines = part.splitlines() or [""]
        source, _ = objects().get(head.split(":")[0], (None, None))
        for path in (Path(os.path.normpath(BUILD / line.strip())) for line in lines if source):
            if path.suffix not in (".h", ".def") or not path.is_relative_to(ROOT / "src"):
                continue
            read += 1
            if later(room_of(source), room_of(path)):
                wrong.add(f"{source.relative_to(ROOT)} reads {path.relative_to(ROOT)}")
    assert read > 1000 and not wrong, "\n".join(sorted(wrong))


def symbols(files, *options):
    """{file: its symbols}."""
    done = subprocess.run(["nm", "-A", *options, *files], cwd=BUILD, capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        file, _, rest = line.partition(":")
        found.setdefault(file, set()).add(rest.split()[-1])
    return found


def test_functions_call_only_what_stands_above():
    """So that there is no circle among the rooms. By way of a pointer that is handed over, as a source's functions
    or a callback, anybody may be called."""
    built = [name for name in objects() if (BUILD / name).exists()]
    assert len(built) > 300
    homes = {}
    for name, defined in symbols(built, "--defined-only", "--extern-only").items():
        for symbol in defined:
            homes.setdefault(symbol, set()).add(room_of(objects()[name][0]))
    twice = {f"{symbol}: {', '.join(sorted(rooms))}" for symbol, rooms in homes.items() if len(rooms) > 1}
    assert not twice, "\n".join(sorted(twice))
    public = "".join(path.read_text() for path in (ROOT / "include/hipboard").iterdir())
    wrong = set()
    for name, used in symbols(built, "--undefined-only").items():
        source = objects()[name][0]
        for symbol in used & set(homes):
            [room] = homes[symbol]
            apart = room_of(source) in APART and re.search(rf"\b{symbol}\(", public)
            if later(room_of(source), room) and not apart:
                wrong.add(f"{source.relative_to(ROOT)} calls {symbol} of {room}")
    assert not wrong, "\n".join(sorted(wrong))


def test_each_room_has_objects():
    assert {room_of(source) for source, _ in objects().values()} == set(ROOMS)
