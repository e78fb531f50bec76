# SPDX-License-Identifier: MIT
"""The schemas of plugin_format/ and what they find wrong with a trace."""
import gzip
import json

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from support import ROOT

SCHEMAS = {name: json.loads((ROOT / f"plugin_format/{name}.schema.json").read_text())
           for name in ("kineto", "tensorboard")}
REGISTRY = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values())


def validator(dialect):
    return Draft202012Validator(SCHEMAS[dialect], registry=REGISTRY)


def load(path):
    text = path.read_bytes()
    return json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)


def complaints(trace, dialect):
    """What the schema finds wrong, one line each, as near to the cause as it can say."""
    lines = []
    for error in validator(dialect).iter_errors(trace):
        place = "/".join(str(part) for part in error.absolute_path)
        what = json.dumps(error.instance)[:300]
        lines.append(f"{place}: {error.message[:100]}: {what}")
    return lines
