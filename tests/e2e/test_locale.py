# SPDX-License-Identifier: MIT
"""Programs that took their user's language on, one with decimal commas: files, tables and numbers in
options keep their points."""
import json
import os
import re
import shutil
import subprocess

import pytest

from event_files import values
from support import BUILD, ROOT, run

HIPBOARD = BUILD / "tools/hipboard/hipboard"
TRACE = ROOT / "tests/data/torch-2.13-cpu.pt.trace.json"
COMMA = re.compile(r"\d,\d+(?:[ \w%|]|$)", re.M)


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """The environment in which any program begins as setlocale(LC_ALL, "") leaves it in Germany."""
    if not shutil.which("localedef"):
        pytest.skip("needs localedef")
    directory = tmp_path_factory.mktemp("locale")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", directory / "de_DE.UTF-8"],
                          capture_output=True, text=True)
    if made.returncode:
        pytest.skip("needs the package locales: " + made.stderr)
    source, library = directory / "german.c", directory / "german.so"
    source.write_text("#include <locale.h>\n#include <stdlib.h>\n"
                      "__attribute__((constructor)) static void begin(void)\n"
                      "{ if (!setlocale(LC_ALL, \"de_DE.UTF-8\")) abort(); }\n")
    run("cc", "-shared", "-fPIC", "-o", library, source)
    return dict(os.environ, LOCPATH=str(directory), LC_ALL="de_DE.UTF-8", LD_PRELOAD=str(library))


def test_the_locale_has_commas(german):
    assert run("printf", "%.1f", "1", env=german) == "1,0"


def test_event_files_of_a_program(german, tmp_path):
    run(BUILD / "samples/digits/digits", "--logdir", tmp_path, env=german)
    for path in tmp_path.glob("*.pt.trace.json"):
        json.loads(path.read_text())
    texts = [text for found in values(tmp_path).values() for _, value in found
             for text in value.tensor.string_val if value.metadata.plugin_data.plugin_name == "text"]
    assert any(b"digits::augment" in text for text in texts)
    assert not [text for text in texts if COMMA.search(text.decode())]


def test_tables_in_a_program(german, tmp_path):
    output = run(BUILD / "samples/per_cycle", cwd=tmp_path, env=german)
    assert re.search(r"diffuse +\d+\.\d\d% ", output)


@pytest.mark.parametrize("program", ["trace_file", "insights", "roofline", "control"])
def test_answers_in_a_program(german, program):
    run(BUILD / "tests/unit" / f"test_{program}", env=german)


@pytest.mark.parametrize("command", [
    ["table", TRACE], ["check", TRACE], ["stacks", TRACE],
    ["compare", TRACE, TRACE, "--fail-if", "step_time > +2.5%"], ["compare", TRACE, TRACE, "--json"]])
def test_commands_say_the_same(german, command):
    said = [subprocess.run([HIPBOARD, *command], capture_output=True, env=env, timeout=600)
            for env in (german, dict(os.environ))]
    assert said[0].stdout == said[1].stdout and said[0].stderr == said[1].stderr
    assert said[0].returncode == said[1].returncode
