#!/usr/bin/env python3
"""`temper tokenize --chat auto` beside transformers, over a folder of published chat templates. It is no test of CTest, because
published templates are other people's and are not kept here.

    published_templates.py build/temper FOLDER [--conversations 200] [--seed 1] [--only PATTERN] [--show 1] [--verbose]

FOLDER has NAME.jinja, and beside it NAME.json: {"bos_token": …, "eos_token": …, "tokens": [special tokens], "soft_tokens":
[added tokens that are not special, like <think>]}. Each template gets a model folder with a small byte-level tokenizer that has
these tokens. Random conversations go through temper, one process a template, and through transformers.

A template's outcome is one of these.
  equal    Temper's ids are those of transformers, for all conversations that it answered.
  said     Some differ in earlier turns only, and a line on stderr says so. The last turn is as the template writes it, and each
           earlier one as the template wrote it when it was the last: the column `tail` counts these.
  refused  Temper exits with 2 and a sentence, for every conversation.
  SILENT   Anything else. The first such conversation is printed with both texts.

Some conversations the template itself refuses; then temper must refuse too, or say on stderr that it does not. Behind the last
stop token most templates write a line break that generation never makes. Ids that lack it count as equal; the column `no break`
counts them. An answer's first characters are never one token with the end of the prompt, because a model writes them behind the
prompt's tokens. Ids that differ from the template's in that alone count as equal; the column `seam` counts them. The column
`refused` counts refusals of single conversations that transformers renders, `by itself` those that the template refuses and that
were tried.

The exit status is 1 where there is a SILENT one. 77: an oracle is not installed."""

import argparse
import collections
import fnmatch
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[2])]
try:
    import random_conversations
    import template_folders
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)
from patience import patience

SECONDS = 300  # for one process over all conversations of a template
KINDS = ("equal", "no break", "seam", "tail", "refused", "different", "by itself")
RESTARTS = 25  # after conversations that were refused; the rest then counts as refused too


def run(temper, folder, batch):
    """Ids of the conversations up to the first refusal, the exit status, and what stood on stderr."""
    data = b"".join(json.dumps(messages, ensure_ascii=False).encode() + b"\0" for messages in batch)
    command = [temper, "tokenize", "--model", folder, "--chat", "auto", "--nul"]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS * patience(temper))
    except subprocess.TimeoutExpired:
        return [], "hangs", ""
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode, done.stderr.decode(errors="replace").strip()


def answers(temper, folder, batch):
    """For each conversation its ids, or the sentence that refuses it; and the other lines on stderr."""
    found, said, restarts = [], [], 0
    while len(found) < len(batch):
        ids, status, errors = run(temper, folder, batch[len(found):])
        found += ids
        if status == 0 and len(found) == len(batch):
            said += errors.splitlines()
            break
        if status != 2 or not errors:
            raise RuntimeError(f"exit {status}: {errors or 'nothing on stderr'}")
        *more, sentence = errors.splitlines()
        said += more
        found.append(sentence)
        restarts += 1
        if restarts > RESTARTS or (restarts > 3 and len(found) == restarts):
            found += [sentence] * (len(batch) - len(found))
    return found, list(dict.fromkeys(said))


def first_tail(text, messages, tokens):
    """Where in the template's text the last turn begins: behind the answer before it, at the next special token."""
    last = messages[-1]["content"].strip()
    at = text.rfind(last) if last else len(text)
    before = messages[-2]["content"].split("</think>")[-1].strip() if len(messages) > 1 else ""
    begin = text.rfind(before, 0, at) + len(before) if before and at > 0 else 0
    if begin < len(before):
        return at
    borders = [place for token in tokens if 0 <= (place := text.find(token, begin)) <= at]
    return min(borders, default=at)


def in_parts(oracle, messages, text):
    """The template's text as ids, where an answer is encoded by itself, as a model writes it behind the prompt's tokens."""
    cuts = [0]
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            prompt = template_folders.rendered(oracle, messages[:i])
            if text.startswith(prompt) and len(prompt) > cuts[-1]:
                cuts.append(len(prompt))
    return [i for begin, end in zip(cuts, [*cuts[1:], len(text)]) for i in template_folders.encoded(oracle, text[begin:end])]


def without_break(oracle, ids):
    while ids and not oracle.decode(ids[-1:]).strip():
        ids = ids[:-1]
    return ids


def find(ids, part, begin):
    """Where `part` lies in `ids`, at `begin` or later; -1 where it does not."""
    return next((i for i in range(begin, len(ids) - len(part) + 1) if ids[i:i + len(part)] == part), -1)


def is_appended(oracle, tokens, messages, ids):
    """Does each turn stand there as the template wrote it when it was the last one? That is what append-only means."""
    answers_at = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    if not answers_at:
        return False
    first = template_folders.encoded(oracle, template_folders.rendered(oracle, messages[:answers_at[0]]))
    if ids[:len(first)] != first:
        return False
    at, whole = len(first), oracle.decode(ids)
    for i in answers_at:
        if messages[i]["content"].split("</think>")[-1].strip() not in whole:
            return False
        if i + 1 == len(messages):
            continue
        text = template_folders.rendered(oracle, messages[:i + 2])
        begin = first_tail(text, messages[:i + 2], tokens)
        part = template_folders.encoded(oracle, text[begin:]) if any(text.startswith(token, begin) for token in tokens) else []
        if (place := find(ids, part, at)) < 0:
            return False
        at = place + len(part)
    return True


def is_last_turn(oracle, tokens, messages, text, ids, parts):
    """Are ids at their end what the template writes for the last turn?"""
    ends = messages[-1]["role"] == "assistant"
    tail = text[first_tail(text, messages, tokens):].rstrip("\n")
    for wanted in (template_folders.encoded(oracle, text), parts):
        wanted = without_break(oracle, wanted) if ends else wanted
        same = next((i for i, (a, b) in enumerate(zip(reversed(ids), reversed(wanted))) if a != b), min(len(ids), len(wanted)))
        if same and tail and len(oracle.decode(wanted[len(wanted) - same:])) >= len(tail):
            return True
    return False


def compared(oracle, tokens, messages, text, ids):
    """equal, no break, seam, tail (earlier turns differ, as append-only conversations may) or different."""
    expected = template_folders.encoded(oracle, text)
    if ids == expected:
        return "equal"
    ends = messages[-1]["role"] == "assistant"
    if ends and expected[:len(ids)] == ids and not oracle.decode(expected[len(ids):]).strip():
        return "no break"
    parts = in_parts(oracle, messages, text)
    if ids == parts or (ends and ids == without_break(oracle, parts)):
        return "seam"
    appended = is_appended(oracle, tokens, messages, ids) and is_last_turn(oracle, tokens, messages, text, ids, parts)
    return "tail" if appended else "different"


class Template:
    """What a template made of the conversations."""

    def __init__(self, name):
        self.name, self.outcome, self.note = name, "", ""
        self.counts, self.example = collections.Counter(), ""

    def silent(self, note, example=""):
        if self.outcome != "SILENT":
            self.outcome, self.note, self.example = "SILENT", note, example

    def line(self):
        columns = [self.counts[kind] for kind in KINDS]
        return f"{self.name[:58]:58} {self.outcome:8}" + "".join(f"{number:10}" for number in columns) + f"  {self.note[:200]}"


def shown(kind, messages, ids, text, oracle):
    place = ""
    if not isinstance(ids, str):
        expected = template_folders.encoded(oracle, text)
        at = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b), min(len(ids), len(expected)))
        place = f"\n    from token {at}: ours {oracle.convert_ids_to_tokens(ids[at:at + 6])}, the template's {oracle.convert_ids_to_tokens(expected[at:at + 6])}"
        ids = oracle.decode(ids)
    return f"  {kind}: {json.dumps(messages, ensure_ascii=False)[:1500]}\n    ours:         {ids[:1500]!r}\n    the template: {text[:1500]!r}{place}"


def refused_by_itself(temper, folder, template, refusals):
    """Conversations that the template refuses, one of each kind."""
    kinds = {}
    for messages, reason in refusals:
        kinds.setdefault((reason[:60], messages[0]["role"], messages[-1]["role"]), (messages, reason))
    for messages, reason in [*kinds.values()][:6]:
        ids, status, errors = run(temper, folder, [messages])
        template.counts["by itself"] += 1
        if status not in (0, 2) or not errors:
            template.silent(f"exit {status} where the template refuses: {reason[:80]}", f"  {json.dumps(messages, ensure_ascii=False)[:600]}\n    ours: {ids}"[:1500])


def judged(temper, folder, name, source, about, variant, batch):
    template = Template(name)
    try:
        template_folders.write(folder, source, about, variant)
        oracle = template_folders.load(folder)
    except Exception as error:  # a folder that transformers does not load says nothing about temper
        template.outcome, template.note = "unusable", f"{type(error).__name__}: {error}"
        return template
    usable, refusals = [], []
    for messages in batch:
        try:
            usable.append((messages, template_folders.rendered(oracle, messages)))
        except Exception as error:  # whatever a template raises
            refusals.append((messages, f"{type(error).__name__}: {error}"))
    try:
        judge_answers(temper, folder, template, oracle, about, usable)
        refused_by_itself(temper, folder, template, refusals)
    except RuntimeError as error:
        template.silent(str(error)[:300])
    return template


def judge_answers(temper, folder, template, oracle, about, usable):
    found, said = answers(temper, folder, [messages for messages, _ in usable])
    tokens = [t for t in [*about.get("tokens", []), about.get("bos_token"), about.get("eos_token")] if t]
    examples = {}
    for (messages, text), ids in zip(usable, found, strict=True):
        kind = "refused" if isinstance(ids, str) else compared(oracle, tokens, messages, text, ids)
        template.counts[kind] += 1
        if kind not in examples or len(str(messages)) < len(str(examples[kind][0])):
            examples[kind] = (messages, ids, text)
    told = lambda kind: shown(kind, *examples[kind], oracle)
    sentence = next((ids for ids in found if isinstance(ids, str)), "")
    if template.counts["different"]:
        template.silent(f"{template.counts['different']} differ" + (f", beside: {said[0]}" if said else ""), told("different"))
    elif template.counts["tail"] and not said:
        template.silent(f"{template.counts['tail']} differ in earlier turns, and stderr is empty", told("tail"))
    elif template.counts["tail"]:
        template.outcome, template.note, template.example = "said", said[0], told("tail")
    elif usable and template.counts["refused"] == len(usable):
        template.outcome, template.note = "refused", sentence
    elif not usable:
        template.outcome, template.note = "no chats", "the template renders none of the conversations"
    else:
        template.outcome, template.note = "equal", sentence or (said[0] if said else "")
        template.example = told("refused") if sentence else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temper", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*", help="a pattern of names, like 'Qwen*'")
    parser.add_argument("--show", type=int, default=1, help="0: no examples; 1: of SILENT ones; 2: of all")
    words = parser.parse_args()
    templates = sorted(path for path in words.folder.glob("*.jinja") if fnmatch.fnmatch(path.stem, words.only))
    if not templates:
        sys.exit(f"{words.folder}: has no NAME.jinja that --only={words.only} admits")
    print(f"{'template':58} {'outcome':8}" + "".join(f"{kind:>10}" for kind in KINDS) + "  note")
    outcomes = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for path in templates:
            about_path = path.with_suffix(".json")
            about = json.loads(about_path.read_text()) if about_path.exists() else {}
            # By the name, so that a template's conversations do not depend on which others there are.
            chance = random.Random(f"{words.seed} {path.stem}")
            batch = [random_conversations.conversation(chance) for _ in range(words.conversations)]
            folder = pathlib.Path(scratch) / re.sub(r"[^\w.-]", "_", path.stem)
            template = judged(words.temper.resolve(), folder, path.stem, path.read_bytes().decode(), about, chance.randrange(16), batch)
            outcomes[template.outcome] += 1
            print(template.line(), flush=True)
            if template.example and words.show >= (1 if template.outcome == "SILENT" else 2):
                print(template.example, flush=True)
    print("\n" + "  ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common()) + f"  of {len(templates)}")
    sys.exit(outcomes["SILENT"] > 0)


main()
