#!/usr/bin/env python3
"""Ids beside transformers' AutoTokenizer and `tokenizers`, over every form of tokenizer that Temper reads.

    tokenizer_forms_test.py build/temper [--texts N] [--only PART] [FOLDER …]

FOLDER: Hugging Face folders to compare on instead of the small tokenizers that are made here.
77: an oracle is not installed."""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
try:
    import sentencepiece  # noqa: F401
    import tokenizers  # noqa: F401
    import transformers

    import tokenizer_forms
    import tokenizer_texts
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)


def ours(temper, folder, batch, *options):
    data = b"".join(t.encode() + b"\0" for t in batch)
    done = subprocess.run([temper, "tokenize", "--model", folder, "--nul", *options], input=data, capture_output=True)
    if done.returncode != 0:
        return done.stderr.decode().strip()
    return [json.loads(line) for line in done.stdout.splitlines()]


def differences(label, batch, found, expect):
    if isinstance(found, str):
        print(f"  {label}: {found}")
        return len(batch)
    wrong = 0
    for text, ids in zip(batch, found, strict=True):
        expected = expect(text)
        if ids == expected:
            continue
        wrong += 1
        if wrong <= 3:
            at = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b), min(len(ids), len(expected)))
            print(f"  {label}: {text[:90]!r}: from token {at} ours {ids[at:at + 6]}, expected {expected[at:at + 6]}")
    return wrong


def compare(temper, name, folder, count):
    auto = transformers.AutoTokenizer.from_pretrained(folder)
    back = auto.backend_tokenizer
    # Code Llama's class adds tokens of which the vocabulary and the model know nothing, and cuts a text at the last one.
    names = [t.content for t in auto.added_tokens_decoder.values() if t.content not in ("<FILL_ME>", "\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>", "\u2581<EOT>")]
    batch = tokenizer_texts.texts(count, names)
    wrong = differences(name, batch, ours(temper, folder, batch, "--special"), lambda t: auto(t, add_special_tokens=False)["input_ids"])
    # Names of special tokens are text where a stranger wrote it. Only where nothing is put before a text.
    if not starts(back):
        back.encode_special_tokens = True
        wrong += differences(name + ", as content", batch, ours(temper, folder, batch), lambda t: back.encode(t, add_special_tokens=False).ids)
        back.encode_special_tokens = False
    print(f"{name:55} {len(batch):7} {wrong:6}", flush=True)
    return wrong


def starts(back):
    """Whether something is put before a text."""
    description = json.loads(back.to_str())
    text = json.dumps([description["normalizer"], description["pre_tokenizer"]])
    return "Prepend" in text or '"add_prefix_space": true' in text or '"prepend_scheme": "first"' in text or '"prepend_scheme": "always"' in text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("temper", type=pathlib.Path)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    words = parser.parse_intermixed_args()
    temper, failed = words.temper.resolve(), 0
    print(f"{'form':55} {'texts':>7} {'wrong':>6}")
    for folder in words.folders:
        failed += compare(temper, folder.name, folder, words.texts)
    if not words.folders:
        with tempfile.TemporaryDirectory() as scratch:
            for name, (files, config) in tokenizer_forms.forms().items():
                if list(files) == ["tokenizer_config.json", "tokenizer.model"] and not importlib.util.find_spec("google"):
                    print(f"{name:55} skipped: transformers reads it with protobuf, which is not installed")
                elif words.only in name:
                    folder = tokenizer_forms.write(pathlib.Path(scratch) / name.replace("/", " "), files, config)
                    failed += compare(temper, name, folder, words.texts)
    sys.exit(failed > 0)


main()
