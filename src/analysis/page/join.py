# SPDX-License-Identifier: MIT
"""Joins the page's modules into one script and its texts into C, so that no tool beyond Python is
needed to build it. Imports are followed and taken out; two modules must not define one name.

    join.py WEB_DIRECTORY OUTPUT.c
"""
import base64
import gzip
import hashlib
import re
import sys
from pathlib import Path

IMPORT = re.compile(r"^import (?:\{[^}]*\}|\* as \w+) from '\./([\w/.-]+)';\n", re.M)
DEFINES = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) +([\w$]+)", re.M)
FURTHER = re.compile(r"^(?:export )?(?:const|let) [\w$]+ = .*", re.M)  # const A = 1, B = 2;
FIRST = "app.js"
NOTE = "// SPDX-License-Identifier: MIT\n"

POLICY = ("default-src 'none'; script-src {script}; style-src {style}; img-src data: blob:; "
          "connect-src {connect}; base-uri 'none'; form-action 'none'")


def order(web, name, seen, done):
    """Modules, each behind those that it imports."""
    if name in done:
        return
    if name in seen:
        raise SystemExit(f"{name}: imports go in a circle")
    seen.add(name)
    for imported in IMPORT.findall((web / name).read_text()):
        order(web, imported, seen, done)
    done.append(name)


def join(web):
    names, owner, parts = [], {}, []
    order(web, FIRST, set(), names)
    unused = {path.name for path in web.glob("*.js")} - set(names)
    if unused:
        raise SystemExit(f"nobody imports {', '.join(sorted(unused))}")
    for name in names:
        text = (web / name).read_text()
        further = [more for line in FURTHER.findall(text) for more in re.findall(r", ([\w$]+) = ", line)]
        for defined in DEFINES.findall(text) + further:
            if defined in owner:
                raise SystemExit(f"{name} and {owner[defined]} both define {defined}")
            owner[defined] = name
        text = IMPORT.sub("", text).removeprefix(NOTE)
        parts.append(f"// ---- {name}\n" + re.sub(r"^export ", "", text, flags=re.M))
    script = NOTE + "'use strict';\n" + "".join(parts)
    if re.search(r"</script|<!--", script, re.I):
        raise SystemExit("the script would end early within a page")
    return script


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def head(policy, title):
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f'<meta name="referrer" content="no-referrer">\n<title>{title}')


def files(web):
    script, style = join(web), (web / "page.css").read_text()
    report = POLICY.format(script=digest(script), style=digest(style), connect="'none'")
    served = POLICY.format(script="'self'", style="'self'", connect="'self'")
    yield "index.html", "text/html; charset=utf-8", (
        head(served, "hipboard</title>\n") + '<link rel="stylesheet" href="page.css">\n'
        '<script type="module" src="page.js"></script></head>\n'
        '<body><div id="plain"><p>This page needs a browser with JavaScript modules: Chromium 97, '
        'Firefox 113, Safari 16.4 or later. <code>hipboard view</code> has the same numbers in a '
        'terminal.</p></div></body></html>\n')
    yield "page.js", "text/javascript; charset=utf-8", script
    yield "page.css", "text/css; charset=utf-8", style
    yield "report.head", "text/html; charset=utf-8", head(report, "")
    yield "report.style", "text/html; charset=utf-8", (
        f'</title>\n<style>{style}</style></head>\n<body><div id="plain">')
    yield "report.script", "text/html; charset=utf-8", (
        f'<script type="module">{script}</script>\n</body></html>\n')


def as_c(data):
    lines = (data[i:i + 24] for i in range(0, len(data), 24))
    return ",\n".join(",".join(map(str, line)) for line in lines)


def main():
    web, to = map(Path, sys.argv[1:3])
    texts = [(name, kind, text.encode()) for name, kind, text in files(web)]
    out = ["/* SPDX-License-Identifier: MIT - made by join.py */", '#include "page/page_files.h"']
    packed = [gzip.compress(data, 9, mtime=0) for _, _, data in texts]
    for i, data in enumerate(packed):
        out.append(f"static const unsigned char file_{i}[] = {{\n{as_c(data)}}};")
    out.append("const hb_page_file hb_page_files[] = {")
    out += [f'    {{"{name}", "{kind}", file_{i}, sizeof file_{i}, {len(data)}}},'
            for i, (name, kind, data) in enumerate(texts)]
    out.append(f"}};\nconst size_t hb_num_page_files = {len(texts)};\n")
    to.write_text("\n".join(out))


main()
