#!/usr/bin/env python3
"""Ids beside transformers' AutoTokenizer and `tokenizers`, over every form of tokenizer that Temper reads.

    tokenizer_forms_test.py build/temper [--texts N] [--only PART] [--published] [FOLDER …]

Small tokenizers that are made here have the forms. --published: those of the packages that carry some, too. FOLDER: Hugging Face
folders; without --published they are all that is compared. Where tokenizer.json counts against the class that transformers takes,
`tokenizers` on the file is what ids are compared with.
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
    import vocabularies
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
BY_FILE = "tokenizer: ids are those of tokenizer.json"


def ours(temper, folder, batch, *options):
    """The ids, or what went wrong; and the line that names other programs' ids."""
    data = b"".join(t.encode() + b"\0" for t in batch)
    done = subprocess.run([temper, "tokenize", "--model", folder, "--nul", *options], input=data, capture_output=True)
    said = done.stderr.decode().strip()
    if done.returncode != 0:
        return said, ""
    remark = "".join(line for line in said.splitlines() if line.startswith("tokenizer:"))
    return [json.loads(line) for line in done.stdout.splitlines()], remark


def differences(label, batch, found, expected):
    if isinstance(found, str):
        print(f"  {label}: {found}")
        return len(batch)
    wrong = 0
    for text, ids, theirs in zip(batch, found, expected, strict=True):
        if ids == theirs:
            continue
        wrong += 1
        if wrong <= 3:
            at = next((i for i, (a, b) in enumerate(zip(ids, theirs)) if a != b), min(len(ids), len(theirs)))
            print(f"  {label}: {text[:90]!r}: from token {at} ours {ids[at:at + 6]}, expected {theirs[at:at + 6]}")
    return wrong


def encoded(tokenizer, batch):
    return tokenizer(batch, add_special_tokens=False)["input_ids"]


def remark_is_right(name, remark, by_file):
    """Whether temper says that tokenizer.json counts against transformers' class where it does, and nowhere else."""
    if by_file == remark.startswith(BY_FILE):
        return True
    print(f"  {name}: tokenizer.json must {'' if by_file else 'not '}count against the class, and temper said {remark!r}")
    return False


def compare(temper, name, folder, count, by_file=None):
    """`by_file`: whether tokenizer.json counts against the class that transformers takes; None: as temper says."""
    if by_file is None:
        by_file = ours(temper, folder, [])[1].startswith(BY_FILE)
    oracle = (transformers.PreTrainedTokenizerFast.from_pretrained if by_file else transformers.AutoTokenizer.from_pretrained)(folder)
    back = oracle.backend_tokenizer
    # Code Llama's class adds tokens of which the vocabulary and the model know nothing, and cuts a text at the last one.
    names = [t.content for t in oracle.added_tokens_decoder.values() if t.content not in ("<FILL_ME>", "\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>", "\u2581<EOT>")]
    batch = tokenizer_texts.texts(count, names)
    found, remark = ours(temper, folder, batch, "--special")
    wrong = differences(name, batch, found, encoded(oracle, batch))
    wrong += not remark_is_right(name, remark, by_file)
    compared = len(batch)
    # Names of special tokens are text where a stranger wrote it. Only where nothing is put before a text.
    if not starts(back):
        back.encode_special_tokens = True
        wrong += differences(name + ", as content", batch, ours(temper, folder, batch)[0], [e.ids for e in back.encode_batch(batch, add_special_tokens=False)])
        compared += len(batch)
    return report(name, compared, wrong)


def compare_model(temper, name, folder, model, count):
    """A folder with tokenizer.model alone, beside sentencepiece, which takes U+2581 for its own mark and no text for a control token:
    texts that have one are left out."""
    oracle = sentencepiece.SentencePieceProcessor(model_proto=model + b"\x1a\x02\x18\x00")  # add_dummy_prefix = false
    odd = ["\u2581", *(oracle.id_to_piece(i) for i in range(oracle.get_piece_size()) if oracle.is_control(i))]
    batch = [t for t in tokenizer_texts.texts(count, []) if not any(part in t for part in odd)]
    prefix = "" if json.loads((folder / "tokenizer_config.json").read_text()).get("add_prefix_space") is False else " "
    at_start = oracle.encode([t if t.startswith(" ") or not t else prefix + t for t in batch])
    wrong = differences(name, batch, ours(temper, folder, batch, "--special")[0], at_start)
    wrong += differences(name + ", as content", batch, ours(temper, folder, batch)[0], oracle.encode(batch))
    return report(name, 2 * len(batch), wrong)


def report(name, compared, wrong):
    print(f"{name:80} {compared:8} {wrong:6}", flush=True)
    return compared, wrong


def starts(back):
    """Whether something is put before a text."""
    description = json.loads(back.to_str())
    text = json.dumps([description["normalizer"], description["pre_tokenizer"]])
    return "Prepend" in text or '"add_prefix_space": true' in text or '"prepend_scheme": "first"' in text or '"prepend_scheme": "always"' in text


def compare_forms(temper, scratch, words):
    for name, (files, config, by_file) in tokenizer_forms.forms().items():
        if list(files) == ["tokenizer_config.json", "tokenizer.model"] and not importlib.util.find_spec("google"):
            print(f"{name:80} skipped: transformers reads it with protobuf, which is not installed")
        elif words.only in name:
            yield compare(temper, name, tokenizer_forms.write(scratch / name.replace("/", " "), files, config), words.texts, by_file)


def compare_published(temper, scratch, words):
    for name, (make, by_file) in vocabularies.byte_level().items():
        if words.only in name:
            yield compare(temper, name, make(scratch / name), words.texts, by_file)
    for version in vocabularies.MISTRALS if vocabularies.package_file("mistral_common", "data/tokenizer.model.v1") else ():
        model = vocabularies.mistral_model(version)
        for chosen in ({"legacy": True}, {"legacy": False}, {}, {"add_prefix_space": False}):
            name = f"Mistral v{version}, tokenizer.model, {chosen}"
            if words.only in name:
                folder = vocabularies.mistral(scratch / f"{version} {chosen}", version, **chosen)
                yield compare_model(temper, name, folder, model, words.texts)
        for form, content, config, kind in tokenizer_forms.forms_of_pieces(model):
            name = f"Mistral v{version}, {form}"
            if words.only in name:
                yield compare(temper, name, tokenizer_forms.write(scratch / name, {"tokenizer.json": content, "tokenizer_config.json": config}, {"model_type": kind}), words.texts, False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("temper", type=pathlib.Path)
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--only", default="")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    words = parser.parse_intermixed_args()
    temper = words.temper.resolve()
    print(f"{'form':80} {'texts':>8} {'wrong':>6}")
    done = [compare(temper, folder.name, folder, words.texts) for folder in words.folders]
    with tempfile.TemporaryDirectory() as scratch:
        if words.published:
            done += compare_published(temper, pathlib.Path(scratch), words)
        if words.published or not words.folders:
            done += compare_forms(temper, pathlib.Path(scratch), words)
    compared, wrong = sum(n for n, _ in done), sum(n for _, n in done)
    print(f"{len(done)} vocabularies and forms, {compared} texts compared, {wrong} wrong")
    sys.exit(wrong > 0)


main()
