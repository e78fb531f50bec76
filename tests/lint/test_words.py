# SPDX-License-Identifier: MIT
"""What categories, names, kernels and calls mean is said in src/common/rules and nowhere else."""
import functools
import re

from test_tree import ROOT, sources

RULES = ROOT / "src/common/rules"
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')

# Words of categories that are words of something else as well; file: what they are there.
OTHER_MEANINGS = {
    "src/recorder/summary/summary_tags.h": {"communication": "a group of tags"},
    "src/recorder/summary/summary_tags.c": {
        "communication": "a group of tags", "operator": "a table's title", "kernel": "the same"},
    "src/analysis/compare/samples.c": {"operator": "what is compared", "kernel": "the same"},
    "src/analysis/logdir/views.c": {
        "operator": "a view's name", "kernel": "the same", "trace": "the same"},
    "src/analysis/page/page.c": {"trace": "a parameter's name"},
    "src/analysis/page/page_memory.c": {"operator": "a column's title"},
    "src/analysis/page/page_overview.c": {
        "attention": "a class, as hb_kernel_insight has it", "communication": "the same", "convolution": "the same",
        "gemm": "the same"},
    "src/analysis/page/page_ranks.c": {"communication": "a column's title"},
    "src/analysis/page/page_roofline.c": {
        "kernel": "a column's title", "operator": "a column's title"},
    "src/analysis/page/page_slices.c": {
        "kernel": "a class of the page's colours", "memcpy": "the same", "memset": "the same",
        "runtime": "the same"},
    "src/analysis/page/page_study.c": {
        "communication": "a part of an answer", "operator": "a column's title"},
    "src/analysis/page/page_tables.c": {
        "copy": "a column's title", "kernel": "the same", "memcpy": "the same",
        "memset": "the same", "operator": "the same", "runtime": "the same"},
    "src/analysis/routes/routes_logdir.c": {"trace": "a route's name"},
    "src/analysis/plugin/answer_kernel.c": {"operator": "a column's title"},
    "src/analysis/routes/routes_trace.c": {
        "kernel": "an address, and how its rows are grouped"},
    "src/analysis/plugin/answer_distributed.c": {"communication": "a part of an answer"},
    "src/common/trace/op_work.c": {"conv2d": "torch's operator, behind its prefix"},
    "src/analysis/plugin/name_cache.c": {
        "operator": "the plugin's own word for a type", "python": "the same",
        "user_annotation": "the same"},
    "src/common/ops/op_list.c": {"communication": "a word of lists of tables"},
    "src/common/ops/op_options.c": {"operator": "a kind of tables' lines", "optimizer": "the same"},
    "src/common/ops/op_inputs.c": {"hipblaslt": "who describes layouts"},
    "src/analysis/api/api_counters.c": {"kernel": "a member of what an import has written"},
    "src/analysis/export/event_facts.c": {"nccl": "how its calls begin", "rccl": "the same"},
    "src/recorder/comm/mpi_life.c": {"mpi:": "how MPI calls its sets of processes"},
    "src/recorder/operators/communication_calls.c": {"rccl": "the category of its errors"},
    "src/recorder/comm/rccl_profiler.c": {"rccl": "the category of what it tells"},
    "src/recorder/profiler/profiler.c": {"nccl": "a backend", "communication": "a word of lists of tables"},
    "src/analysis/import/import_set.c": {"rccl": "what can be left out, by its name"},
    "src/analysis/import/import_source.c": {"memcpy": "how a copy without direction is shown"},
    "src/analysis/import/named_event.c": {"kernel": "a part of tools' categories", "memset": "the same"},
    "src/analysis/import/rocpd_events.c": {"memset": "a part of rocprofiler's names of copies"},
    "src/analysis/import/rocprof1_db.c": {"copy": "a table's name"},
    "src/analysis/import/rocprof_sets.c": {"_runtime": "a part of files' names"},
    "src/analysis/import/rpd.c": {"copy": "a part of RPD's names of copies"},
    "src/analysis/import/rows_shared.c": {"rccl": "a part of rocprofiler's categories"},
    "src/analysis/import/sum_counters.c": {"kernel": "a member of the trace's metadata"},
    "src/analysis/import/xplane.c": {"copy": "how XLA's names of copies begin", "memcpy": "the same",
                                      "memset": "and of fills"},
    "src/common/write/json_names.c": {"kernel": "a name that Kineto writes with a capital letter"},
}


def table(name, macro):
    """The first literal, or all of them, of each row of a table."""
    text = re.sub(r" */\*.*?\*/", "", (RULES / name).read_text(), flags=re.S)
    return [re.findall(LITERAL, row) for row in
            re.findall(r"^%s\((.*?)\)$" % macro, text, re.M | re.S)]


@functools.cache
def words():
    """(texts that nobody else may write alone, parts that nobody else may write at all)."""
    categories = {row[0].lower() for row in table("categories.def", "HB_CATEGORY")}
    names = {row[0] for row in table("names.def", "HB_NAME") if row and row[0]}
    header = (RULES / "name_class.h").read_text()
    names |= {re.search(r'HB_STEP_PREFIX +"(.*)"', header)[1]}
    kernels = {row[0] for row in table("kernels.def", "HB_KERNEL_CLASS")}
    kernels |= {part for row in table("kernels.def", "HB_KERNELS") for part in row}
    kernels |= {row[0] for row in table("tensor_cores.def", "HB_TC_(?:KERNEL|OPERATOR)")}
    alone = {text for text in categories | kernels if len(text) > 3}
    alone -= {"other", "scalar", "memory", "sort"}
    return alone, {text for text in names if len(text) > 3}


def foreign_words(text):
    """The words of the rules among the literals of a source."""
    alone, parts = words()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^\s*#\s*include.*$", "", text, flags=re.M)
    for literal in re.findall(LITERAL, text):
        if literal.lower() in alone:
            yield literal.lower()
        yield from (part for part in parts if literal.startswith(part))


def test_words_of_rules_stand_in_their_tables_only():
    found = []
    for path in sources():
        if path.is_relative_to(RULES):
            continue
        name = str(path.relative_to(ROOT))
        allowed = OTHER_MEANINGS.get(name, {})
        found += [f"{name}: \"{word}\"" for word in sorted(set(foreign_words(path.read_text())))
                  if word not in allowed]
    assert not found, "\n".join(found)


def test_what_is_allowed_is_there():
    for name, allowed in OTHER_MEANINGS.items():
        idle = set(allowed) - set(foreign_words((ROOT / name).read_text()))
        assert not idle, f"{name}: {', '.join(sorted(idle))}"


def test_the_rule_itself():
    assert list(foreign_words('hb_str_is(cat, "Cpu_Op")')) == ["cpu_op"]
    assert list(foreign_words('begins(name, "ProfilerStep#") /* "cpu_op" */')) == ["ProfilerStep#"]
    assert list(foreign_words('"no cpu_op here"')) == []


def test_each_table_has_rows_without_a_twin():
    for name, macro in (("categories.def", "HB_CATEGORY"), ("names.def", "HB_NAME"),
                        ("kernels.def", "HB_KERNEL_CLASS"), ("calls.def", "HB_CALL"),
                        ("step_roles.def", "HB_ROLE"), ("advice.def", "HB_ADVICE"),
                        ("defects.def", "HB_DEFECT"), ("mends.def", "HB_MEND"), ("losses.def", "HB_LOSS")):
        text = (RULES / name).read_text()
        ids = re.findall(r"^%s\((\w+(?:, \"\w+\")?)" % macro, text, re.M)
        assert len(ids) > 5 and (len(set(ids)) == len(ids) or macro == "HB_CALL"), name


# Words that this project had for what the field calls otherwise; the names of these begin with hb_.
PRIVATE_WORDS = {"thunk": "trampoline", "paper": "document", "stroke": "part", "hoped": "expected", "dearest": "by cost",
                 "survey": "prepass", "unifier": "normalizer", "flaw": "defect"}
PRIVATE_NAMES = {"joins": "correlations", "turns": "arbitration", "mark": "timing_event", "marks": "timing_events",
                 "note": "diagnostics", "notes": "diagnostics", "outside": "id_remap", "lose": "reject", "unify": "normalize",
                 "holder": "live_owner", "holders": "live_owners", "name_bits": "name_class", "sid": "string_id",
                 "flaw": "json_defect"}


def private_words(text):
    names = "|".join(PRIVATE_NAMES)
    yield from ((name, f"hb_{PRIVATE_NAMES[name]}") for name in re.findall(rf"\bhb_({names})(?=_|\b)", text))
    for word in re.findall(r"[a-z]+", text.lower()):
        word = word.removesuffix("s") if word.removesuffix("s") in PRIVATE_WORDS else word
        if word in PRIVATE_WORDS:
            yield word, PRIVATE_WORDS[word]


def test_the_words_are_the_fields():
    files = [*sources(), *(ROOT / "include").rglob("*.h*"), *(ROOT / "tools/hipboard").glob("*.[ch]"), ROOT / "README.md",
             ROOT / "CONTRIBUTING.md", *(ROOT / "share/doc/hipboard").glob("*.md"), *(ROOT / "plugin_format").glob("*.md")]
    found = {f"{path.relative_to(ROOT)}: {old}: say {new}" for path in files
             for old, new in private_words(path.read_text())}
    assert len(files) > 500 and not found, "\n".join(sorted(found))
    assert list(private_words("hb_" + "marks_init(); /* A thunk's papers */")) == [
        ("marks", "hb_timing_events"), ("thunk", "trampoline"), ("paper", "document")]
