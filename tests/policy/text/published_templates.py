#!/usr/bin/env python3
"""`temper tokenize --chat auto` beside transformers, over a folder of published chat templates, which are other people's and are not
kept here. Without a folder: over the templates of chat_templates.py, each of which must be followed. That is a test of CTest.

    published_templates.py build/temper [FOLDER] [--conversations 200] [--seed 1] [--only PATTERN] [--show 1] [--verbose]

FOLDER has NAME.jinja, and beside it NAME.json: {"bos_token": …, "eos_token": …, "tokens": [special tokens], "soft_tokens":
[added tokens that are not special, like <think>]}. Each template gets a model folder with a small byte-level tokenizer that has
these tokens. Random conversations go through temper, one process a template, and through transformers.

A template's outcome is one of these.
  equal    Temper's ids are those of transformers, for all conversations that it answered.
  said     Some differ in earlier turns only, or lack what the template writes behind the last answer's end, or end answers that the
           template does not end, and a line on stderr names this kind of difference. The last turn is as the template
           writes it, and each earlier one too, or as the template wrote it when it was the last, or as a model wrote it behind the
           template's prompt (appended_turns.py): the column `tail` counts these, `unsaid` those of a kind that no line names.
  refused  Temper exits with 2 and a sentence, for every conversation.
  SILENT   Anything else. The first such conversation is printed with both texts.

Some conversations the template itself refuses; then temper must refuse too, or say on stderr that it does not. Behind the last
stop token most templates write a line break that generation never makes. Ids that lack it count as equal; the column `no break`
counts them. An answer's first characters are never one token with the end of the prompt, because a model writes them behind the
prompt's tokens. Ids that differ from the template's in that alone count as equal; the column `seam` counts them. The column
`refused` counts refusals of single conversations that transformers renders, `by itself` those that the template refuses and that
were tried.

The exit status is 1 where there is a SILENT one, or one of our own is refused. 77: an oracle is not installed, or templates cannot be
run here."""

import argparse
import collections
import fnmatch
import functools
import json
import multiprocessing
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
    import appended_turns
    import chat_templates
    import random_conversations
    import template_folders
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)
from patience import patience

SECONDS = 300  # for one process over all conversations of a template
KINDS = ("equal", "no break", "seam", "tail", "refused", "unsaid", "different", "by itself")
RESTARTS = 25  # after conversations that were refused for no reason of LIMITS; the rest then counts as refused too
TRIES = 3  # conversations of each kind of LIMITS; the rest then counts as refused too


def run(temper, folder, batch):
    """Ids of the conversations up to the first refusal, the exit status, and what stood on stderr."""
    data = b"".join(json.dumps(messages, ensure_ascii=False).encode() + b"\0" for messages in batch)
    command = [temper, "tokenize", "--model", folder, "--chat", "auto", "--nul"]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS * patience(temper))
    except subprocess.TimeoutExpired:
        return [], "hangs", ""
    whole, _, _ = done.stdout.rpartition(b"\n")  # a process that died left half a line
    return [json.loads(line) for line in whole.splitlines()], done.returncode, done.stderr.decode(errors="replace").strip()


def is_odd(answer):
    """Marks of reasoning that are not one pair in front."""
    marks = re.findall("</?think>", answer)
    return bool(marks) and not (marks == ["<think>", "</think>"] and answer.lstrip().startswith("<think>"))


def any_content(role, test):
    return lambda messages: any(message["role"] == role and test(message["content"]) for message in messages)


# What a refusal names, and the conversations that are likely refused for that.
LIMITS = {"empty system message": any_content("system", lambda text: not text.strip()), "system message": any_content("system", lambda text: True),
          "empty user message": any_content("user", lambda text: not text.strip()), "empty answer": any_content("assistant", lambda text: not text.strip()),
          "answer in which <think>": any_content("assistant", is_odd), "answer with reasoning": any_content("assistant", lambda text: "</think>" in text)}


def answers(temper, folder, batch):
    """For each conversation its ids, or the sentence that refuses it; and the other lines on stderr. A process ends at the first
    refusal, so that only a few of each kind are tried. Where one of one word is refused, the template itself is."""
    found, said, tried, sentences = [None] * len(batch), [], collections.Counter(), {}
    todo = list(range(len(batch)))
    kind_of = lambda i: next((kind for kind in sentences if kind in LIMITS and LIMITS[kind](batch[i])), None)
    while todo:
        picked = [i for i in todo if not kind_of(i)] or [i for i in todo if tried[kind_of(i)] < TRIES]
        if not picked or tried[None] > RESTARTS:
            for i in todo:
                found[i] = sentences.get(kind_of(i), next(iter(sentences.values())))
            break
        ids, status, errors = run(temper, folder, [batch[i] for i in picked])
        for i, one in zip(picked, ids):
            found[i] = one
        if status == 2 and errors and len(ids) < len(picked):
            *more, found[picked[len(ids)]] = errors.splitlines()
            said += more
            sentence = found[picked[len(ids)]]
            kind = next((kind for kind in LIMITS if f" {kind}" in sentence.partition("no plain place for")[2]), None)
            sentences.setdefault(kind, sentence)
            tried[kind] += 1
            if len(todo) == len(batch) and not ids and run(temper, folder, [[{"role": "user", "content": "Hello"}]])[1] == 2:
                return [sentence] * len(batch), said
        elif status or len(ids) < len(picked):
            raise RuntimeError(f"exit {status}: {errors or 'nothing on stderr'}")
        else:
            said += errors.splitlines()
        todo = [i for i in todo if found[i] is None]
    return found, list(dict.fromkeys(said))


def openings(oracle):
    """The last characters in front of answers that a model writes, and of those that are given, as the last one and before another turn."""
    asked = [{"role": "user", "content": "x"}, {"role": "assistant", "content": appended_turns.WORD}, {"role": "user", "content": "y"}]
    texts = (template_folders.rendered(oracle, asked[:count]).partition(appended_turns.WORD)[0] for count in (1, 2, 3))
    return [text.rstrip()[-6:] for text in texts]


def at_seams(oracle, messages, text, ids):
    """Ids of the text where answers are encoded by themselves, as a model writes them behind the prompt's tokens; None where `ids`
    differ in something else."""
    text, found = oracle.decode(template_folders.encoded(oracle, text)), []
    fronts = openings(oracle)
    for _ in messages:
        wanted, rest = template_folders.encoded(oracle, text), ids[len(found):]
        same = next((i for i, (a, b) in enumerate(zip(rest, wanted)) if a != b), min(len(rest), len(wanted)))
        if same == len(rest) or same == len(wanted):
            return found + wanted
        for count in (same + 1, same + 2, same + 3):
            size = len(oracle.decode(rest[:count]))
            front = text[:size].rstrip()
            if any(front.endswith(opening) for opening in fronts) and template_folders.encoded(oracle, text[:size]) == rest[:count]:
                found, text = found + rest[:count], text[size:]
                break
        else:
            return None
    return None


def without_break(oracle, ids):
    while ids and not oracle.decode(ids[-1:]).strip():
        ids = ids[:-1]
    return ids


def ends_by_itself(oracle, messages, ids):
    """Is the text that of the template, with the tokenizer's end behind each answer and nowhere else?"""
    parts, begin = [], 0
    for i, one in enumerate(ids):
        if one == oracle.eos_token_id:
            parts, begin = [*parts, oracle.decode(ids[begin:i])], i + 1
    rest, text = oracle.decode(ids[begin:]), oracle.decode(template_folders.encoded(oracle, template_folders.rendered(oracle, messages)))
    told = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
    same = lambda part, i: oracle.decode(template_folders.encoded(oracle, template_folders.rendered(oracle, messages[:i + 1]))).rstrip() == part.rstrip()
    return len(parts) == len(told) and text.rstrip() == ("".join(parts) + rest).rstrip() and all(same("".join(parts[:n + 1]), i) for n, i in enumerate(told))


def compared(oracle, tokens, messages, text, ids, named=frozenset()):
    """equal, no break, seam, different, or the kinds of difference that append-only conversations may have."""
    expected = template_folders.encoded(oracle, text)
    if ids == expected:
        return "equal"
    if appended_turns.NO_END in named and len(messages) > 1:
        return appended_turns.without_ends(oracle, messages, ids) if not ends_by_itself(oracle, messages, ids) else {appended_turns.NO_END}
    ends = messages[-1]["role"] == "assistant"
    if ends and appended_turns.NO_LAST_END in named and ids[-1] == oracle.eos_token_id:
        kinds = compared(oracle, tokens, messages, text, ids[:-1])
        return {appended_turns.NO_LAST_END} | (kinds if isinstance(kinds, set) else set()) if kinds != "different" else kinds
    if ends and expected[:len(ids)] == ids and not oracle.decode(expected[len(ids):]).strip():
        return "no break"
    lacks = lambda whole: ends and whole[:len(ids)] == ids and ids[-1] in oracle.added_tokens_decoder
    if lacks(expected):
        return {appended_turns.BEHIND}
    parts = at_seams(oracle, messages, text, ids)
    if parts and (ids == parts or (ends and ids == without_break(oracle, parts))):
        return "seam"
    if parts and lacks(parts):
        return {appended_turns.BEHIND}
    kinds = appended_turns.differences(oracle, tokens, messages, ids)
    return kinds or "different"


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
    named = appended_turns.named(said)
    tokens = [t for t in [*about.get("tokens", []), about.get("bos_token"), about.get("eos_token")] if t]
    examples = {}
    for (messages, text), ids in zip(usable, found, strict=True):
        kind = "refused" if isinstance(ids, str) else compared(oracle, tokens, messages, text, ids, named)
        if isinstance(kind, set):
            kind = "unsaid" if kind - named else "tail"
        template.counts[kind] += 1
        if kind not in examples or len(str(messages)) < len(str(examples[kind][0])):
            examples[kind] = (messages, ids, text)
    told = lambda kind: shown(kind, *examples[kind], oracle)
    sentence = next((ids for ids in found if isinstance(ids, str)), "")
    if template.counts["different"]:
        template.silent(f"{template.counts['different']} differ" + (f", beside: {said[0]}" if said else ""), told("different"))
    elif template.counts["unsaid"]:
        template.silent(f"{template.counts['unsaid']} differ in earlier turns, of a kind that no line names", told("unsaid"))
    elif template.counts["tail"]:
        template.outcome, template.note, template.example = "said", "; ".join(sorted(named)), told("tail")
    elif usable and template.counts["refused"] == len(usable):
        template.outcome, template.note = "refused", sentence
    elif not usable:
        template.outcome, template.note = "no chats", "the template renders none of the conversations"
    else:
        template.outcome, template.note = "equal", sentence or (said[0] if said else "")
        template.example = told("refused") if sentence else ""


def judged_one(words, scratch, one):
    name, source, about = one
    # By the name, so that a template's conversations do not depend on which others there are.
    chance = random.Random(f"{words.seed} {name}")
    batch = [random_conversations.conversation(chance) for _ in range(words.conversations)]
    folder = pathlib.Path(scratch) / re.sub(r"[^\w.-]", "_", name)
    return judged(words.temper.resolve(), folder, name, source, about, chance.randrange(16), batch)


def templates_of(folder, pattern):
    """(name, template, its tokenizer's tokens) of each."""
    if not folder:
        return [(name, source, about) for name, (source, about) in chat_templates.ALL.items()]
    found = []
    for path in sorted(path for path in folder.glob("*.jinja") if fnmatch.fnmatch(path.stem, pattern)):
        about = path.with_suffix(".json")
        found.append((path.stem, path.read_bytes().decode(), json.loads(about.read_text()) if about.exists() else {}))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("temper", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*", help="a pattern of names, like 'Qwen*'")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--show", type=int, default=1, help="0: no examples; 1: of SILENT ones; 2: of all")
    words = parser.parse_args()
    templates = templates_of(words.folder, words.only)
    if not templates:
        sys.exit(f"{words.folder}: has no NAME.jinja that --only={words.only} admits")
    print(f"{'template':58} {'outcome':8}" + "".join(f"{kind:>10}" for kind in KINDS) + "  note")
    outcomes = collections.Counter()
    with tempfile.TemporaryDirectory() as scratch, multiprocessing.get_context("fork").Pool(words.jobs) as pool:
        for template in pool.imap(functools.partial(judged_one, words, scratch), templates):
            outcomes[template.outcome] += 1
            if "and it cannot be run" in template.note:
                print(f"skipped: {template.note}")
                sys.exit(77)
            print(template.line(), flush=True)
            if template.example and words.show >= (1 if template.outcome == "SILENT" else 2):
                print(template.example, flush=True)
    print("\n" + "  ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common()) + f"  of {len(templates)}")
    followed = outcomes["equal"] + outcomes["said"]
    sys.exit(outcomes["SILENT"] > 0 or (not words.folder and followed < len(templates)))


main()
