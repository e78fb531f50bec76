# SPDX-License-Identifier: MIT
"""Small faults, as hands make them: where in a C file they can be put in, and what it is then."""
import re

# What a fault may not touch: comments, texts, characters, the preprocessor.
QUIET = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[^\n]*',
                   re.S | re.M)

# What nobody could see, or only a sanitizer, which another run of the tests has: memory that is not
# given back, a lock not taken, hints to the kernel and the compiler, assertions; and pauses (MOMENT).
UNSEEN = re.compile(r"(\w*_)?(free|destroy|release|lock|lock_take|lock_after_fork|rdlock|wrlock|munmap|madvise|"
                    r"prefetch|posix_fadvise|posix_madvise|prctl|sleep_us|nanosleep|assert|ASSERT|Static_assert)\(")
# Numbers that are sizes of buffers, first capacities, and "none" where any negative number does: room
# for one more is seen by nobody, and for one less by a sanitizer at best.
BUFFER = re.compile(r"\s*(static |const |unsigned |struct )*\w+ (\*?\w+(\[[^\]=]*\])*, )*"
                    r"\*?\w+(\[[^\]=]*\])+")
CAPACITY = re.compile(r"hb_buf_init\(|hb_memory_sink_init\(|hb_slots_double\w*\(|HB_NEW_ARRAY\(|"
                      r"\b[mc]alloc\(|realloc\(|_Alignas|_assert\(|ASSERT\(|FIRST_CAPACITY|"
                      r"PADDING|hb_buf_append\(&?\w+, +, ")
# What a failure of memory leads to: tests/fault fails each allocation in turn, for minutes, which is
# too long to be asked here.
FAILURE = re.compile(r"NO_MEMORY|hb_no_memory\(|(\.|->)failed \|= |\bbuilder\.failed = ")
ALLOCATES = (r"(\w*alloc(_scattered)?|strn?dup|asprintf|HB_APPEND|HB_NEW\w*|hb_\w+_new|hb_buf_reserve|"
             r"hb_slots_double(_scattered)?|hb_texts_(init|add)|hb_grow\w*)\(")
# One more round over an array of known length looks at what lies behind it, which a sanitizer tells.
BEYOND = re.compile(r"< HB_ARRAY_LEN\(")
# How long a thread pauses, and whether a limit of time that is met to the unit counts: no test may
# depend on a moment.
MOMENT = re.compile(r"\b[A-Z]\w*_(NS|US|MS)\b")
# Numbers that only tell one state from the next.
TURN = re.compile(r"(generation|epoch)\w*, 1\)")
NUMERIC = ("constant", "quotient", "product")
NONE = re.compile(r"(return |= | : | \? |\{|ANONYMOUS, )-$|snprintf\([^,]*, $")


# Functions that give memory back, and do nothing else.
FREEING = re.compile(r"^[a-z][^\n;]*_(free|unmap)\([^;{]*\)\n\{\n.*?^\}", re.S | re.M)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def swap(pattern, text, name):
    return name, re.compile(pattern), lambda match: text


KINDS = [
    swap(r"(?<= )<(?= )", "<=", "comparison"),
    swap(r"(?<= )<=(?= )", "<", "comparison"),
    swap(r"(?<= )>(?= )", ">=", "comparison"),
    swap(r"(?<= )>=(?= )", ">", "comparison"),
    swap(r"(?<= )<(?= )", ">", "comparison turned"),
    swap(r"(?<= )>(?= )", "<", "comparison turned"),
    swap(r"(?<= )==(?= )", "!=", "equality"),
    swap(r"(?<= )!=(?= )", "==", "equality"),
    swap(r"(?<= )&&(?= )", "||", "and for or"),
    swap(r"(?<= )\|\|(?= )", "&&", "or for and"),
    swap(r"(?<=[\w)\]] )\+(?= \w)", "-", "sign"),
    swap(r"(?<=[\w)\]] )-(?= \w)", "+", "sign"),
    swap(r"(?<=[\w)\]] )/(?= \w)", "*", "quotient"),
    swap(r"(?<=[\w)\]] )\*(?= [a-z0-9(])", "/", "product"),
    swap(r"(?<=\w)\+\+(?=;)", "--", "count"),
    swap(r"(?<= )\+=(?= )", "-=", "sum"),
    swap(r"\btrue\b", "false", "truth"),
    swap(r"\bfalse\b", "true", "truth"),
    ("constant", re.compile(r"(?<![\w.])(\d+)(?![\w.])"), lambda m: str(int(m[1]) + 1)),
    ("constant", re.compile(r"(?<![\w.])([1-9]\d*)(?![\w.])"), lambda m: str(int(m[1]) - 1)),
    ("constant", re.compile(r"(?<![\w.])(1024|1000|100)(?![\w.])"),
     lambda m: {"1024": "1000", "1000": "1024", "100": "1"}[m[1]]),
    ("condition", re.compile(r"\bif \((?=[^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)[^\n]*$)", re.M),
     lambda m: "if (!"),
    # A statement that has a line of its own: a call, an assignment, a count; no declaration.
    ("dropped", re.compile(r"(?<=\n)([ ]{4,})((?:[\w.\->\[\]*]+ (?:[-+|&*]?=) |\w+\()[^\n]*;)(?=\n)"),
     lambda m: m[1] + ";"),
    ("dropped", re.compile(r"(?<=\n)([ ]{4,})([\w.\->\[\]]+(?:\+\+|--);)(?=\n)"),
     lambda m: m[1] + ";"),
    ("dropped", re.compile(r"(?<=\n)([ ]{4,})(if \([^\n]*\) [^{\n]*;)(?=\n)"), lambda m: m[1] + ";"),
]


def places(text):
    """(kind, begin, end, replacement) of every fault that could be put into the text. Of a negated
    condition the inner part needs parentheses, so that it ends where the condition does."""
    quiet = FREEING.sub(blank, QUIET.sub(blank, text))
    found = []
    for kind, pattern, make in KINDS:
        for match in pattern.finditer(quiet):
            begin, end = match.span()
            replacement = make(match)
            if kind == "condition":
                close = matching(quiet, end - 1)
                if close is None:
                    continue
                replacement = "if (!(" + text[end:close] + "))"
                end = close + 1
            if kind == "dropped" and (match[2].startswith("return") or "HB_TRY" in match[2] or
                                      UNSEEN.match(match[2])):
                continue
            if (kind in NUMERIC or kind == "sign") and is_size(quiet, begin):
                continue
            line = line_at(quiet, begin)
            if FAILURE.search(line) or kind != "condition" and without_memory(quiet, begin):
                continue
            if kind == "comparison" and (BEYOND.match(quiet, begin) or is_printed(text, quiet, begin)):
                continue
            if kind == "or for and" and leads_to_failure(quiet, begin):
                continue
            if kind in (*NUMERIC, "comparison") and MOMENT.search(line) or kind == "constant" and TURN.search(line):
                continue
            found.append((kind, begin, end, replacement))
    return found


def line_at(text, at):
    return text[text.rfind("\n", 0, at) + 1:text.find("\n", at)]


def without_memory(text, at):
    """What stands behind the question whether an allocation has failed, in its line."""
    begin = text.rfind("\n", 0, at) + 1
    asked = re.match(r"\s*if \(!(\w+)(\)|\()", line_at(text, at))
    if not asked:
        return False
    if asked[2] == "(":
        return bool(re.match(ALLOCATES, asked[1] + "("))
    return bool(re.search(rf"\b{asked[1]} =\s+(\([^()]*\) ?)?{ALLOCATES}", text[max(begin - 300, 0):begin]))


def leads_to_failure(text, at):
    """Where any of several things failed, as allocations do, there is no memory."""
    line = text[text.rfind("\n", 0, at) + 1:].split("\n", 3)
    lines = {"{": 2, ")": 1}.get(line[0].rstrip()[-1:], 0)
    return bool(re.match(r"\s*if \(", line[0]) and FAILURE.search("\n".join(line[1:1 + lines])))


def is_printed(text, quiet, at):
    """A text with a letter of its own is never empty: its length is below 0 where there is no memory, or not."""
    front, depth = quiet[:at].rstrip(), 0
    for i in range(len(front) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(front[i], 0)
        if depth <= 0:
            form = re.search(r'"((?:\\.|[^"\\])*)"', text[i:at])
            return bool(front[:i].endswith("asprintf") and form and re.sub("%[^%]*?[a-z]+", "", form[1]))
    return False


def is_size(text, at):
    begin = text.rfind("\n", 0, at) + 1
    line = line_at(text, at)
    buffer = BUFFER.match(line)
    named = re.findall(r"\b([A-Z]\w*) = ", text[begin:at])
    if named and f"malloc({named[-1]})" in text:
        return True
    return bool(buffer and at < begin + buffer.end() or CAPACITY.search(line) or
                NONE.search(text[begin:at]))


def matching(text, opened):
    depth = 0
    for i in range(opened, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return None
