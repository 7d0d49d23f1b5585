#!/usr/bin/env python3
"""Ids of published tokenizers beside `tokenizers` and sentencepiece, text for text, and the speed of both.

    tokenizers_test.py build/temper [--speed]

77: an oracle is not installed."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
try:
    import sentencepiece
    import tokenizers
    import vocabularies

    missing = [p for p, f in (("dashscope", "resources/qwen.tiktoken"), ("llama_models", "llama3/tokenizer.model"),
                              ("mistral_common", "data/tokenizer.model.v1")) if not vocabularies.package_file(p, f)]
    if missing:
        raise ImportError(f"{missing[0]} is not installed")
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[3]
TEMPER = pathlib.Path(sys.argv[1]).resolve()
NO_PREFIX = b"\x1a\x02\x18\x00"  # normalizer_spec.add_dummy_prefix = false

AWKWARD = [
    "", " ", "  ", "\n", "\r\n", "\t\t x", "a\u0085b", "a\u00a0b\u00a0\u00a0c", "a\u180eb \u180e \u180e\u180e", "x\u2000\u2001 y\u3000z",
    "\u200b\u200d\ufeff", "don't DON'T we'LL I'\u017f \u2019s", "1234567890 12 345 6789", "\u0661\u0662\u0663\u0664 \u00bd \u2167", "e\u0301 \u0041\u030a \u1e9b\u0323",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab", "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8\u3067\u3059\u3002", "\u4f60\u597d\uff0c\u4e16\u754c", "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd", "\u0928\u092e\u0938\u094d\u0924\u0947",
    "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627", "<|im_start|>user\n<|im_end|>", "<think>x</think>", "<s>[INST] hi [/INST]</s>", "<|eot_id|><|begin_of_text|>",
    "<0x0A> <unk>", "```cuda\n__global__ void k(float* y) {\n  y[threadIdx.x] = 0.f;\n}\n```\n", "a" * 300, "ab" * 400, " " * 1000, "\n" * 700, "=" * 999,
    "x = y ** 2  # \u00b5s\n\n\n\tif x:\n\t\tpass", "\u2581a \u2581\u2581 b", "\U00031350\U0001e4d0\U0001e4f1 \U00011f04",
]
ALPHABETS = ["abcdefghij klmnop qrstuv wxyz", "ABC abc 012 3.14 _+-*/(){}[];\n\t", "\u00e4\u00f6\u00fc\u00df \u00e9\u00e8 \u00f1 \u00e7 a", "\u4e2d\u6587\u5b57\u7b26 \u3042\u3044 \ud55c a1",
             "\U0001f600\U0001f680\u2728 ok!", "a\u0301e\u0308 \u0323o\u0302", "\u00a0\u2003\u3000\u0085\u180e \r\n\tx", "'s't're'll <|>{}\"", "01234 56789,.", "\u0430\u0431\u0432\u0433 \u0394\u03b5 \u0561\u0562"]


def code_texts():
    files = sorted(p for e in ("*.cc", "*.h", "*.cu", "*.md", "*.py", "*.yaml") for p in ROOT.glob("*/**/" + e)
                   if not {".deps", "build"} & set(p.parts))
    return [p.read_text(errors="replace") for p in files[::4]][:220]


def texts():
    rng = random.Random(5)
    all_texts = list(AWKWARD) + code_texts()
    for text in code_texts()[:60]:
        lines = text.split("\n")
        all_texts += ["\n".join(lines[i:i + 7]) for i in range(0, min(len(lines), 70), 7)]
    while len(all_texts) < 2200:
        alphabet = rng.choice(ALPHABETS)
        all_texts.append("".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 90))))
    all_texts += ["".join(rng.choice(a) for _ in range(n)) for a, n in ((ALPHABETS[0].replace(" ", ""), 1 << 20), (ALPHABETS[1].replace("\n", ""), 1 << 20))]
    return [t for t in all_texts if "\0" not in t]


def every_code_point():
    """Each assigned code point between a letter and a digit: which class do both sides think it has?"""
    points = [p for p in range(1, 0x110000) if not 0xD800 <= p < 0xE000 and unicodedata.category(chr(p)) != "Cn"
              and unicodedata.category(chr(p)) != "Co"]
    points = [p for p in points if not (0x4E00 <= p < 0x9F00 or 0xAC00 <= p < 0xD700 or 0x17000 <= p < 0x18B00 or p > 0x20100 and p < 0x31000)]
    return ["".join(f"a{chr(p)}1 {chr(p)}{chr(p)}\n" for p in points[i:i + 40]) for i in range(0, len(points), 40)]


def ours(folder, batch):
    data = b"".join(t.encode() + b"\0" for t in batch)
    lines = subprocess.run([TEMPER, "tokenize", "--model", folder, "--nul"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def plain_oracle(folder):
    """`tokenizers` on the same file: special tokens are never taken out of plain text."""
    oracle = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    oracle.encode_special_tokens = True
    return oracle


def sentencepiece_oracle(folder):
    return sentencepiece.SentencePieceProcessor(model_proto=(folder / "tokenizer.model").read_bytes() + NO_PREFIX)


def merges_oracle(folder):
    """`tokenizers` with merges rebuilt from the model's pieces, as transformers does."""
    sp = sentencepiece_oracle(folder)
    vocab = {sp.id_to_piece(i): i for i in range(sp.get_piece_size())}
    normal = {p for p, i in vocab.items() if not (sp.is_control(i) or sp.is_unknown(i) or sp.is_byte(i))}
    merges = [(-sp.get_score(vocab[p]), -k, p[:k], p[k:]) for p in normal for k in range(1, len(p)) if p[:k] in normal and p[k:] in normal]
    model = tokenizers.models.BPE(vocab=vocab, merges=[(a, b) for *_, a, b in sorted(merges)], byte_fallback=True, fuse_unk=True, unk_token="<unk>")
    oracle = tokenizers.Tokenizer(model)
    oracle.normalizer = tokenizers.normalizers.Replace(" ", "\u2581")
    return oracle


def compare(name, folder, encode, batch):
    found, wrong = ours(folder, batch), 0
    for text, ids in zip(batch, found, strict=True):
        expected = encode(text)
        if ids == expected:
            continue
        wrong += 1
        if wrong <= 3:
            at = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b), min(len(ids), len(expected)))
            print(f"  {name}: {text[:60]!r}: from token {at} ours {ids[at:at + 6]}, expected {expected[at:at + 6]}")
    return wrong


def peer_speed(encode, batch, seconds=3.0):
    size = sum(len(t.encode()) + 1 for t in batch)
    start, passes = time.perf_counter(), 0
    while passes == 0 or time.perf_counter() - start < seconds:
        for text in batch:
            encode(text)
        passes += 1
    return passes * size / (time.perf_counter() - start) / 1e6


def speeds(folder, encode, scratch):
    batch = [t for t in code_texts() if t]
    file = scratch / "speed.txt"
    file.write_bytes(b"".join(t.encode() + b"\0" for t in batch))
    line = subprocess.run([TEMPER, "bench", "tokenizer", "--model", folder, "--file", file, "--seconds", "3", "--json"], stdout=subprocess.PIPE, check=True).stdout
    mine, peer = json.loads(line)["mb_per_s"], peer_speed(encode, batch)
    return f"{mine:8.1f} {peer:8.1f} {mine / peer:6.2f}x  loaded in {json.loads(line)['load_s']:.2f} s"


def invalid_bytes(folder):
    """Bytes that are no UTF-8 come back as they are."""
    for data in (b"\xff\xfe ab \x80", b"\xe2\x82 cut", b"ok \xc3\x28 \xf0\x9f\x98", b"\xed\xa0\x80"):
        ids = subprocess.run([TEMPER, "tokenize", "--model", folder], input=data, stdout=subprocess.PIPE, check=True).stdout
        text = subprocess.run([TEMPER, "tokenize", "--decode", "--model", folder], input=ids, stdout=subprocess.PIPE, check=True).stdout
        assert text == data, (data, text)


def main():
    speed = "--speed" in sys.argv
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        byte_level = {"qwen3": vocabularies.qwen3, "llama3": vocabularies.llama3, "gpt2": vocabularies.gpt2_pattern}
        families = {}
        for name, make in byte_level.items():
            oracle = plain_oracle(make(scratch / name))
            families[name] = lambda text, oracle=oracle: oracle.encode(text, add_special_tokens=False).ids
        for version in (1, 3):
            folder = vocabularies.mistral(scratch / f"mistral-v{version}", version)
            families[folder.name] = sentencepiece_oracle(folder).encode
        batch, points, failed = texts(), every_code_point(), 0
        print(f"{'family':12} {'texts':>6} {'wrong':>6} {'code points in other classes':>30}" + ("     MB/s     peer  ratio" if speed else ""))
        for name, encode in families.items():
            folder = scratch / name
            # sentencepiece gets a real U+2581 around its own mark: bytes are the exact answer there.
            usable = batch if name in byte_level else [t for t in batch if "\u2581" not in t]
            wrong = compare(name, folder, encode, usable)
            classes = compare(name, folder, encode, points) if name in byte_level else 0
            invalid_bytes(folder)
            print(f"{name:12} {len(usable):6} {wrong:6} {classes:30}" + (" " + speeds(folder, encode, scratch) if speed else ""), flush=True)
            failed += wrong + classes
            if name not in byte_level:
                rebuilt = merges_oracle(folder)
                other = compare(name + " (merges rebuilt)", folder, lambda text: rebuilt.encode(text, add_special_tokens=False).ids, usable[:1500])
                print(f"{name:12} {'1500':>6} {other:6}   beside `tokenizers` with merges rebuilt from the pieces")
                failed += other
        sys.exit(failed > 0)


main()
