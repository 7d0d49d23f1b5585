#!/usr/bin/env python3
"""Layouts that are known by the digest of a published chat template (policy/chat/published_layouts.json), beside what is read off
the templates themselves.

    known_templates.py build/temper FOLDER [--only PATTERN] [--entry FAMILY]

FOLDER has NAME.jinja and NAME.json as published_templates.py describes them. Each template whose digest is known is read once as it
is and once with a Python that runs none; the layouts must be equal. With --entry nothing is compared: it prints what to put
into the table for the templates that PATTERN admits, one entry for each layout.

The exit status is 1 where a layout differs or none is known. 77: an oracle is not installed, or templates cannot be run here."""

import argparse
import datetime
import fnmatch
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
try:
    import template_folders
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)

TABLE = template_folders.ROOT / "policy/chat/published_layouts.json"
TURNS = ("first", "first_with_system", "further")
DATE_FORMATS = ("%d %b %Y", "%d %B %Y", "%B %d, %Y", "%Y-%m-%d")
OF_A_RUN = ("name", "source", "tried", "date")  # of a layout, not of its template
WHITE_SPACE = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())


def digest(text):
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.sha256(text.removesuffix("\n").encode()).hexdigest()


def derived(temper, folder, **environment):
    """The layout of the folder, and why there is none."""
    done = subprocess.run([temper, "model", folder, "--json"], capture_output=True, env={**os.environ, **environment})
    page = json.loads(done.stdout)
    return page.get("chat", {}).get("layout"), page["refused"].get("chat", "")


def compact(layout):
    """Without what published_layouts.cc fills in."""
    def trim(value):
        short = {side: "white space" if sorted(part) == sorted(WHITE_SPACE) else part for side, part in value.items()}
        return "white space" if set(short.values()) == {"white space"} else short

    def turn(value):
        short = {key: trim(part) if key == "trim" else part for key, part in value.items()}
        return {key: part for key, part in short.items() if part not in ("", {"left": "", "right": ""}) and not (key.startswith("told") and part == value["after"])}

    plain = {"behind_reasoning": "\n</think>\n\n", "joins_text": True}
    short = {key: turn(value) if key in TURNS else trim(value) if key.endswith("trim") else value for key, value in layout.items() if key not in OF_A_RUN}
    if short.get("reasoning") == 0:
        short.pop("behind_reasoning")
    same = lambda key, other: short.get(key) == short.get(other) and short.pop(key)
    same("first_with_system", "first")
    empty_told = {name: [key for key in ("told", "told_earlier") if not layout[name][key] and layout[name]["after"]] for name in TURNS}
    for name, keys in empty_told.items():
        for key in keys:
            if name in short:
                short[name][key] = ""
    kept = {key: value for key, value in short.items() if value != plain.get(key, False) and value not in ("", [], {"left": "", "right": ""}, 0)}
    if short["earlier_answer_trim"] == short["answer_trim"]:
        kept.pop("earlier_answer_trim", None)
    elif "answer_trim" in kept:
        kept.setdefault("earlier_answer_trim", {"left": "", "right": ""})
    return kept


def dated(layout, date):
    """With a mark in the place of the day, and how it is written."""
    text = json.dumps(layout, ensure_ascii=False)
    for form in DATE_FORMATS:
        shown = datetime.date.fromisoformat(date).strftime(form)
        if shown in text:
            return json.loads(text.replace(shown, "{date}")), form
    return layout, ""


def text_of(entry):
    """A line for each part of the layout."""
    lines = [f'  "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in entry.items() if key != "layout"]
    parts = [f'   "{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in entry["layout"].items()]
    return " {\n" + ",\n".join([*lines, '  "layout": {\n' + ",\n".join(parts) + "}"]) + "}"


def print_entries(temper, family, templates, scratch):
    entries = {}
    for name, source, about in templates:
        folder = scratch / name
        template_folders.write(folder, source, about, 0)
        layout, why = derived(temper, folder)
        if not layout:
            print(f"{name}: {why[:300]}", file=sys.stderr)
            continue
        short, form = dated(compact(layout), layout["date"])
        tokens = {key: about[key] for key in ("bos_token", "eos_token") if key in source and about.get(key)}
        entry = {"family": family, "texts": [], **({"tokens": tokens} if tokens else {}), **({"date_format": form} if form else {}), "layout": short}
        entries.setdefault(json.dumps(entry, sort_keys=True), entry)["texts"].append(digest(source))
        print(f"{name}: {digest(source)[:8]}", file=sys.stderr)
    for entry in entries.values():
        print(text_of({**entry, "texts": sorted(set(entry["texts"]))}) + ",")


def compared(temper, templates, scratch):
    known = {text: entry["family"] for entry in json.loads(TABLE.read_text()) for text in entry["texts"]}
    wrong = seen = 0
    for name, source, about in templates:
        if digest(source) not in known:
            continue
        folder = scratch / name
        template_folders.write(folder, source, about, 0)
        (own, refused), (table, why) = derived(temper, folder), derived(temper, folder, TEMPER_PYTHON="/bin/false")
        if "cannot be run" in refused:
            print(f"skipped: {refused}")
            sys.exit(77)
        parts = [key for key in (own or {}) if key != "tried" and (not table or own[key] != table[key])]
        seen, wrong = seen + 1, wrong + bool(parts or not own)
        print(f"{name:50} {known[digest(source)]:30} {'equal' if own and not parts else 'DIFFERS: ' + (why or refused or ', '.join(parts))[:300]}", flush=True)
    print(f"\n{seen} templates of {len(set(known.values()))} families are known, {wrong} differ")
    return wrong > 0 or seen == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temper", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="*", help="a pattern of names, or several with commas between")
    parser.add_argument("--entry", metavar="FAMILY")
    words = parser.parse_args()
    templates = [(path.stem, path.read_bytes().decode(), json.loads(path.with_suffix(".json").read_text())) for path in sorted(words.folder.glob("*.jinja"))
                 if any(fnmatch.fnmatch(path.stem, pattern) for pattern in words.only.split(","))]
    with tempfile.TemporaryDirectory() as scratch:
        if words.entry:
            sys.exit(print_entries(words.temper.resolve(), words.entry, templates, pathlib.Path(scratch)))
        sys.exit(compared(words.temper.resolve(), templates, pathlib.Path(scratch)))


main()
