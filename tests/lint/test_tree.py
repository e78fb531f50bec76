# SPDX-License-Identifier: MIT
"""Rules of the source tree that a compiler does not check; CONTRIBUTING.md explains them."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def rooms():
    """{room: (its side, the other rooms that it may include)}, by the table in CONTRIBUTING.md."""
    table = re.findall(r"^\| `(\w+)` \| (common|recorder|analysis) \| .* \| ([\w, -]+) \|$",
                       (ROOT / "CONTRIBUTING.md").read_text(), re.M)
    return {room: (side, set(re.findall(r"\w+", allowed))) for room, side, allowed in table}


ROOMS = rooms()
ALLOWED = {room: allowed for room, (_, allowed) in ROOMS.items()}
TOP_LEVEL = {
    "CONTRIBUTING.md", "LICENSE", "README.md", "include", "meson.build", "meson_options.txt",
    "plugin_format", "samples", "share", "src", "tests", "tools",
}
CODE = {".c", ".h", ".hpp", ".cpp"}
WITH_SPDX = CODE | {".py", ".sh", ".js", ".cmake"}


def tracked():
    listing = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT,
                             capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listing.split("\0") if name and (ROOT / name).exists()]


def includes(path):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', path.read_text(), re.M)


def wrong_include(path, included):
    """Why `path` may not include `included`, or None."""
    top, *rest = path.relative_to(ROOT).parts
    target = included.split("/")[0] if "/" in included else None
    if top == "src" and len(rest) > 2:
        room = rest[1]
        if target in ALLOWED and target != room and target not in ALLOWED[room]:
            return f"{room} may not include {target}"
        if target is None and (path.parent / included).exists():
            return 'own headers are named from their side, "room/file.h"'
    private = target in ALLOWED and any((ROOT / "src").glob(f"*/{included}"))
    if top in ("tools", "samples") and private:
        return f"{top}/ may include only <hipboard/...>"
    if top == "include" and private:
        return "a public header may not include a private one"
    return None


def test_rooms_include_only_what_they_may():
    code = [path for path in tracked() if path.suffix in CODE]
    wrong = [f"{path.relative_to(ROOT)}: {included}: {why}"
             for path in code for included in includes(path)
             if (why := wrong_include(path, included))]
    assert not wrong, "\n".join(wrong)


def sources():
    return [path for path in tracked()
            if path.suffix in CODE and path.is_relative_to(ROOT / "src")]


def test_every_folder_of_src_is_a_known_room():
    found = {path.relative_to(ROOT / "src").parts[:2] for path in sources()}
    assert found == {(side, room) for room, (side, _) in ROOMS.items()}
    assert all(allowed <= set(ALLOWED) for allowed in ALLOWED.values())


def test_each_side_includes_itself_and_common():
    wrong = [f"{room} of {side} may include {other} of {ROOMS[other][0]}"
             for room, (side, allowed) in ROOMS.items() for other in allowed
             if ROOMS[other][0] not in (side, "common")]
    assert not wrong, "\n".join(wrong)


def test_what_a_room_may_include_it_does_include():
    """The table is of today, not of yesterday."""
    used = {room: set() for room in ALLOWED}
    for path in sources():
        room = path.relative_to(ROOT / "src").parts[1]
        used[room] |= {included.split("/")[0] for included in includes(path)} & set(ALLOWED)
    idle = [f"{room}: {', '.join(sorted(left))}" for room, allowed in ALLOWED.items()
            if (left := allowed - used[room])]
    assert not idle, "\n".join(idle)


def test_file_names_are_unique():
    homes = {}
    for path in sources():
        homes.setdefault(path.name, []).append(str(path.relative_to(ROOT)))
    assert not [paths for paths in homes.values() if len(paths) > 1]


def test_where_would_i_add_names_what_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rows = re.search(r"Where would I add.*?\n\n(.*?)\n\n", text, re.S)[1]
    named = re.findall(r"`((?:%s)/[\w*.]*)`" % "|".join(ALLOWED), rows)
    gone = [name for name in named
            if not any((ROOT / "src").glob("*/" + name.rstrip("/*") + "*"))]
    assert len(named) > 10 and not gone, gone


def test_data_flows_one_way():
    """A room may include only rooms that stand above it in the table, so that there is no circle."""
    order = list(ALLOWED)
    back = [f"{room} may include {other}, which comes after it" for room, allowed in ALLOWED.items()
            for other in allowed - {room} if order.index(other) > order.index(room)]
    assert not back, "\n".join(back)


@pytest.mark.parametrize("source, included, allowed", [
    ("src/common/write/x.c", "trace/event.h", True),
    ("src/common/write/x.c", "record/chunk.h", False),
    ("src/common/base/x.c", "trace/event.h", False),
    ("src/recorder/profiler/x.c", "hip/capture.h", True),
    ("src/analysis/insight/x.c", "plugin/analysis.h", False),
    ("tools/x.c", "hipboard/hipboard.h", True),
    ("tools/x.c", "base/base.h", False),
    ("samples/a/x.c", "trace/event.h", False),
    ("tests/unit/x.c", "write/json.h", True),
    ("include/hipboard/x.h", "base/base.h", False),
])
def test_the_rule_itself(source, included, allowed):
    assert (wrong_include(ROOT / source, included) is None) == allowed


def test_top_level_stays_small():
    names = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def anchors(text):
    """Of headings, as they are linked to."""
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", text, re.M)}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *sorted(
    str(path.relative_to(ROOT)) for path in (ROOT / "share/doc/hipboard").glob("*.md"))])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text()
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or anchor and anchor not in anchors(target.read_text()):
            broken.append(link)
    assert not broken


def test_the_readme_leads_to_every_chapter_and_stays_short():
    text = (ROOT / "README.md").read_text()
    chapters = [path.name for path in (ROOT / "share/doc/hipboard").iterdir()]
    assert len(chapters) > 5 and all(f"(share/doc/hipboard/{name})" in text for name in chapters)
    assert len(text) < 20000 and text.index("samples/report.png") < text.index("samples/digits/overview.png")


def test_every_source_names_its_licence():
    missing = [str(path.relative_to(ROOT)) for path in tracked() if path.suffix in WITH_SPDX
               and "SPDX-License-Identifier: MIT" not in "\n".join(
                   path.read_text().splitlines()[:3])]
    assert not missing, "\n".join(missing)


def test_no_line_is_left_for_later():
    pattern = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [f"{path.relative_to(ROOT)}:{number}" for path in tracked()
             if path.suffix in WITH_SPDX and path != Path(__file__).resolve()
             for number, line in enumerate(path.read_text().splitlines(), 1)
             if pattern.search(line)]
    assert not found, "\n".join(found)


def test_faults_that_change_nothing_are_of_lines_that_there_are():
    """Each with a reason; a line that has changed is to be looked at anew."""
    rows = [line.split("\t") for line in (ROOT / "tests/mutate/changes_nothing.tsv").read_text().splitlines()[1:]]
    assert rows and all(len(row) == 4 and all(row) for row in rows)
    gone = [row for row in rows if row[1] not in map(str.strip, (ROOT / row[0]).read_text().splitlines())]
    assert not gone, gone


# Lists grow by base/vector.h and the arena. What grows otherwise:
GROWS = {
    "src/common/base/buf.c": "bytes",
    "src/common/base/large_memory.c": "what is small of memory for any use",
    "src/common/base/string_table.c": "chunks of bytes",
    "src/common/base/vector.h": "lists",
    "src/common/trace/trace.c": "blocks that never move; a few members",
    "src/recorder/profiler/hparams.c": "a few of a public struct",
    "src/recorder/record/cursor.c": "bytes of a part, whose size is known",
    "src/analysis/compare/find_files.c": "a few files",
    "src/analysis/export/export_csv.c": "so many at once that their addresses hold",
    "src/analysis/import/import_set.c": "a few processes",
    "src/analysis/logdir/find_runs.c": "a few runs",
    "src/analysis/logdir/load_run.c": "a few spans",
    "src/analysis/read/event_layouts.c": "bytes of a layout",
    "src/analysis/read/event_repeats.c": "bytes of an event",
    "src/analysis/read/text_window.c": "bytes of the window",
}
# Tables are of base/hash_slots.h. What probes for itself:
PROBES = {
    "src/common/base/hash_slots.h": "the table",
    "src/analysis/plugin/gpu_use.c": "in the order of Python's sets",
    "src/recorder/comm/mpi_communicators.c": "without a lock",
    "src/recorder/comm/mpi_requests.c": "without a lock",
    "src/recorder/record/live_memory.c": "without a lock",
    "src/recorder/record/strings.c": "without a lock",
}
# The shortest text of a number is base/decimal.h's. Who asks for digits until they read back:
PRINTS = {"src/common/base/decimal.c": "the printer"}


@pytest.mark.parametrize("pattern, homes", [
    (r"\brealloc(?:array)?\(", GROWS),
    (r"\+ (?:1|i|perturb)\) [&%] [\w>-]*(?:mask|SLOTS|BUCKETS)\b", PROBES),
    (r"%\.\*[eg]", PRINTS),
])
def test_there_is_one_vector_one_hash_table_and_one_printer_of_numbers(pattern, homes):
    found = {str(path.relative_to(ROOT)) for path in sources()
             if re.search(pattern, re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S))}
    assert found == set(homes)


def own_headers():
    return [path for path in tracked() if path.suffix == ".h"
            and path.relative_to(ROOT).parts[0] in ("src", "tools")]


def test_a_name_means_one_thing():
    """Rooms are compiled apart, so that no compiler minds two types, or constants, of one name."""
    homes = {}
    for path in own_headers():
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        names = re.findall(r"^\} (\w+);", text, re.M)
        for body in re.findall(r"\benum (?:\w+ )?\{(.*?)\}", text, re.S):
            names += re.findall(r"\b(HB_\w+)\s*(?:=|,|$)", body)
        for name in set(names):
            homes.setdefault(name, []).append(str(path.relative_to(ROOT)))
    twice = [f"{name}: {', '.join(paths)}" for name, paths in homes.items() if len(paths) > 1]
    assert not twice, "\n".join(twice)


def test_files_that_comments_name_are_there():
    foreign = {"hip_prof_str.h", "hsa.h", "hsa_ven_amd_loader.h", "blanks.py", "x.py"}  # AMD's; names made up
    there = {path.name for path in tracked()} | foreign
    gone = {f"{path.relative_to(ROOT)}: {name}" for path in [*sources(), *own_headers()]
            for comment in re.findall(r"/\*.*?\*/", path.read_text(), re.S)
            for name in re.findall(r"(?<![<\w./-])(?:\w+/)*(\w+\.(?:[ch]|def|py|sh|md))\b", comment) if name not in there}
    assert not gone, "\n".join(sorted(gone))


def test_every_header_says_what_it_is_about():
    silent = [str(path.relative_to(ROOT)) for path in own_headers()
              if not re.match(r"/\* SPDX-License-Identifier: MIT\n \*\n \* \S", path.read_text())]
    assert not silent, "\n".join(silent)


def test_what_a_header_declares_is_used_elsewhere():
    """A function that only its own file calls is static."""
    words = {path: re.findall(r"\bhb_\w+", path.read_text()) for path in tracked()
             if path.suffix in CODE and path.relative_to(ROOT).parts[0] in ("src", "tests")}
    users = {}
    for path, names in words.items():
        for name in set(names):
            users.setdefault(name, []).append(path)
    alone = [f"{path.relative_to(ROOT)}: {name}" for path in own_headers() if path in words
             for name in set(re.findall(r"^(?!static)\w[^;{}#]*?\b(hb_\w+)\([^{}]*?\);$",
                                        path.read_text(), re.M))
             if len(users[name]) < 3 and words[path].count(name) < 2]
    assert not alone, "\n".join(alone)


def functions(path):
    """(first line, lines) of each function, as clang-format lays them out."""
    begin = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            yield begin, number - begin
            begin = None


def test_files_and_functions_can_be_held_in_the_head():
    code = [path for path in tracked() if path.suffix in {".c", ".cpp"}]
    long = [f"{path.relative_to(ROOT)}:{begin}: a function of {lines} lines"
            for path in code for begin, lines in functions(path) if lines > 80]
    long += [f"{path.relative_to(ROOT)}: {lines} lines" for path in code
             if path.relative_to(ROOT).parts[0] != "tests"
             and (lines := len(path.read_text().splitlines())) > 600]
    assert not long, "\n".join(long)


def test_lists_of_sources_are_in_order():
    units = re.search(r"^unit_tests = \[\n(.*?)\]", (ROOT / "tests/unit/meson.build").read_text(),
                      re.M | re.S)[1].split()
    assert units == sorted(units)
    for side in ("common", "recorder", "analysis"):
        folder = ROOT / "src" / side
        lists = [re.findall(r"^ +'(\w+/\w+\.c)',$", part, re.M)
                 for part in re.findall(r"files\((.*?)\)", (folder / "meson.build").read_text(), re.S)]
        assert all(listed == sorted(listed) for listed in lists)
        assert {name for listed in lists for name in listed} == {str(path.relative_to(folder)) for path in sources()
                               if path.suffix == ".c" and path.is_relative_to(folder)
                               and path.name != "error.c"}, "error.c is the recorder's alone"


@pytest.mark.parametrize("page, constant, home", [
    ("spool.md", "HB_SPOOL_VERSION", "src/recorder/record/format.h"),
    ("control.md", "HB_REQUEST_VERSION", "src/recorder/profiler/request.h"),
    ("hbranks.md", "HB_RANK_FILE_VERSION", "src/common/digest/rank_digest.h"),
])
def test_pages_of_formats_tell_the_version_that_is_written(page, constant, home):
    [version] = re.findall(rf"\b{constant} =? ?(\d+)u?\b", (ROOT / home).read_text())
    overview = (ROOT / "plugin_format/README.md").read_text()
    [row] = [line for line in overview.splitlines() if f"]({page})" in line]
    assert re.match(r"(\d+), in its ", row.split("|")[2].strip())[1] == version
    assert re.search(rf"version:? {version}\b", (ROOT / "plugin_format" / page).read_text())


def test_every_format_has_its_page():
    """What is written or read by a name of ours: each page is in the overview, and leads somewhere."""
    overview = (ROOT / "plugin_format/README.md").read_text()
    own = {path.name for path in (ROOT / "plugin_format").glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\((\w+\.md)\) \|$", overview, re.M)) == own


def test_every_option_of_a_profiler_has_a_json_name():
    header = (ROOT / "include/hipboard/hipboard.h").read_text()
    body = re.search(r"typedef struct hb_profiler_options \{(.*?)\} hb_profiler_options;", header, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    members = set(re.findall(r"(\w+);", body)) - {"struct_size", "activities", "schedule",
                                                  "on_trace_ready", "distributed"}
    table = (ROOT / "src/recorder/profiler/options_json.c").read_text()
    assert members == set(re.findall(r"^    OPTION\((\w+), FIELD_", table, re.M))
