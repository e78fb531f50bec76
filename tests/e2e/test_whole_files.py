# SPDX-License-Identifier: MIT
"""All that is written of one step of test_page_whole's trace: by `convert` in both dialects, by `export` in every format,
and by `import` of these. whole_files.txt was written by `hipboard` itself, and read in part; a time that is off, a column of
another's values, an id or a member that is forgotten shows here."""
import contextlib
import json
import os
import re
import shlex
import sqlite3
import subprocess
from pathlib import Path

import pytest

from support import BUILD
from test_page_whole import made

HIPBOARD = BUILD / "tools/hipboard/hipboard"
# "$ command", what it says, then "> file" and its lines.
FILES = dict(re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", Path(__file__).with_name("whole_files.txt").read_text(), re.M))
COMMANDS = ["convert -o out --steps 1:1 t.pt.trace.json", "convert -o out --dialect kineto --steps 1:1 t.pt.trace.json",
            "convert -o out --json --time 0.0300:0.0311 t.pt.trace.json", "convert -o out --split 2steps --json t.pt.trace.json",
            "export -o out.csv -f csv --steps 1:1 t.pt.trace.json", "export -o out.db --steps 1:1 t.pt.trace.json",
            "export -o out.pftrace --json --time :0.0030 t.pt.trace.json", "import -o out step.csv", "import -o out step.db",
            "import -o out step.pftrace", "import --explain step.db", "import --explain step.csv", "import --explain step.pftrace"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """The trace, and its step in each format."""
    directory = tmp_path_factory.mktemp("files")
    (directory / "t.pt.trace.json").write_text(json.dumps(made() | {"baseTimeNanoseconds": 1700000000000000000}))
    for form in ("csv", "db", "pftrace"):
        subprocess.run([HIPBOARD, "export", "-o", directory / f"step.{form}", *(["-f", "csv"] if form == "csv" else []),
                        "--steps", "1:1", directory / "t.pt.trace.json"], check=True, capture_output=True, timeout=600)
    for path in directory.rglob("*"):  # what has no time of day has its file's
        os.utime(path, ns=(0, 1700000100123456789))
    return directory


def lines_of(path):
    """Readable ones: of a database its tables' rows, of a trace an event a line, of what is binary only that it is there."""
    if path.suffix == ".db":
        with contextlib.closing(sqlite3.connect(path)) as database:
            tables = [row[0] for row in database.execute(
                "select name from sqlite_master where type = 'table' order by name")]
            for table in tables:
                rows = [repr(row) for row in database.execute(f'select * from "{table}"')]
                yield from [f"{table}: {len(rows)}", *rows] if rows else []
    elif path.suffix == ".pftrace":
        yield f"{path.stat().st_size} bytes"
    else:
        yield from path.read_text().splitlines()


def plain(text, directory):
    """Without what differs from run to run: names of directories, and unique numbers of databases."""
    text = text.replace(f"{directory}/", "")
    text = re.sub(r"_[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{12}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", text)
    return text


def run(directory, words):
    for old in sorted((directory / "out").rglob("*")) if (directory / "out").exists() else []:
        old.unlink()
    for old in [*directory.glob("out.*/*"), *directory.glob("out.*")]:
        old.unlink() if old.is_file() else old.rmdir()
    done = subprocess.run([HIPBOARD, *shlex.split(words)], cwd=directory, capture_output=True, text=True, timeout=600)
    told = done.stdout.splitlines() + [f"2> {line}" for line in done.stderr.splitlines()] + [f"= {done.returncode}"]
    for path in sorted(p for p in [*directory.glob("out*"), *directory.glob("out*/*")] if p.is_file()):
        told += [f"> {path.relative_to(directory)}", *lines_of(path)]
    return plain("".join(f"{line}\n" for line in told), directory)


@pytest.mark.parametrize("words", FILES)
def test_the_whole_files(words, directory):
    assert run(directory, words) == FILES[words]
