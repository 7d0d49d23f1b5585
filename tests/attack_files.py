"""Files that strangers wrote to do harm, each given to the program that reads it: python3 tests/attack_files.py build/temper [PATTERN]

Each case makes its files anew, runs one command and knows the right answer: an exit code and words of the message. A command
may take so many seconds of processor time more than the same command takes with good files, and so much memory at most. What
the safetensors crate refuses, where it is installed, must be refused as well.

The seconds are those of a machine that has nothing else to do, and `--times 1` holds every case to them. A test must pass on
slow and busy machines, too: by default a case may take five times its seconds, which work that grows faster than its file
still passes by far.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from patience import sanitized

ROOT = Path(__file__).resolve().parent.parent
MORE_SECONDS, MEBIBYTES = 1.0, 700
# A program that sanitizers watch takes many times as long, and its memory says nothing. A header of 10^6 names takes 9 times
# as long under the address sanitizer and 22 times under the thread sanitizer.
SANITIZED_TIMES = 25
PATIENCE = 60  # seconds of the wall's clock, of which a busy machine gives few
LONGEST_MESSAGE = 4000  # bytes that a command may print about a bad file
CASES = []

# ---------------------------------------------------------------------------------------------------------------- good files

CONFIG = {"model_type": "llama", "vocab_size": 320, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1,
          "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 4096,
          "tie_word_embeddings": True, "torch_dtype": "float32"}


def shapes(config=CONFIG):
    d, f, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    q, kv = config["num_attention_heads"] * config["head_dim"], config["num_key_value_heads"] * config["head_dim"]
    found = {"model.embed_tokens.weight": [v, d], "model.norm.weight": [d]}
    for layer in range(config["num_hidden_layers"]):
        for name, shape in {"input_layernorm": [d], "post_attention_layernorm": [d], "self_attn.q_proj": [q, d],
                            "self_attn.k_proj": [kv, d], "self_attn.v_proj": [kv, d], "self_attn.o_proj": [d, q],
                            "mlp.gate_proj": [f, d], "mlp.up_proj": [f, d], "mlp.down_proj": [d, f]}.items():
            found[f"model.layers.{layer}.{name}.weight"] = shape
    return found


def product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def header_of(tensors):
    """name → shape, all F32, one behind the other."""
    header, at = {}, 0
    for name, shape in tensors.items():
        size = 4 * product(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return header, at


def numbers(count, value=0.01):
    return struct.pack("<f", value) * count


def safetensors(header, data, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def good_weights(config=CONFIG):
    header, size = header_of(shapes(config))
    return header, numbers(size // 4)


def spelled(byte):
    printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    others = [b for b in range(256) if b not in printable]
    return chr(byte) if byte in printable else chr(0x100 + others.index(byte))


SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tokenizer_json():
    vocab = {spelled(byte): byte for byte in range(256)}
    vocab["ab"] = 256
    added = [{"id": 257 + i, "content": name, "special": True} for i, name in enumerate(SPECIAL)]
    return {"added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
            "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": vocab, "merges": ["a b"]}}


def varint(value):
    out = b""
    while True:
        out += bytes([value & 0x7F | (0x80 if value > 0x7F else 0)])
        value >>= 7
        if not value:
            return out


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text, score, kind):
    return field(1, field(1, text if isinstance(text, bytes) else text.encode()) + field(2, float(score)) + field(3, kind))


def pieces():
    """(text, score, kind): unknown 2, control 3, byte 6, normal 1."""
    found = [("<unk>", 0, 2)] + [(name, 0, 3) for name in SPECIAL]
    found += [(f"<0x{byte:02X}>", 0, 6) for byte in range(256)]
    return found + [(chr(c), -1, 1) for c in range(ord("a"), ord("z") + 1)] + [("\u2581", -1, 1), ("ab", -1, 1)]


def sentencepiece(more_pieces=(), normalizer=b"", trainer=b"", tail=b""):
    model = b"".join(piece(*one) for one in pieces() + list(more_pieces))
    model += field(2, field(3, 1) + field(35, 1) + trainer)  # unigram, byte fallback
    return model + field(3, field(3, 0) + field(4, 0) + normalizer) + tail


class Folder:
    """A Hugging Face folder, good until a case changes it."""

    def __init__(self, path):
        self.path = path
        path.mkdir(parents=True)
        self.write("config.json", CONFIG)
        self.write("tokenizer.json", tokenizer_json())
        self.write("run.yaml", "run: {steps: 0}\n")
        self.weights(*good_weights())

    def write(self, name, content):
        if not isinstance(content, (bytes, str)):
            content = json.dumps(content)
        (self.path / name).write_bytes(content.encode() if isinstance(content, str) else content)

    def config(self, **more):
        self.write("config.json", CONFIG | more)

    def weights(self, header, data, length=None, name="model.safetensors"):
        self.write(name, safetensors(header, data, length))

    def remove(self, name):
        (self.path / name).unlink()

    def sentencepiece(self, model):
        self.remove("tokenizer.json")
        self.write("tokenizer.model", model)

    def shards(self, where=lambda name, i: i % 2):
        """Two files and their index, which the caller may change."""
        self.remove("model.safetensors")
        parts, total, places = [{}, {}], 0, {}
        for i, (name, shape) in enumerate(shapes().items()):
            parts[where(name, i)][name] = shape
            places[name] = f"part{where(name, i)}.safetensors"
            total += 4 * product(shape)
        for i, part in enumerate(parts):
            header, size = header_of(part)
            self.weights(header, numbers(size // 4), name=f"part{i}.safetensors")
        return {"metadata": {"total_size": total}, "weight_map": places}


# ------------------------------------------------------------------------------------------------------------------- the cases

EXPORT = ["export", "DIR", "OUT"]
TOKENIZE = ["tokenize", "--model", "DIR", "the cab, abba"]
ADMIT = ["judge", "--admit", "tasks.path=DIR/tasks.yaml"]
DRY_RUN = ["train", "DIR/run.yaml", "--dry-run", "model.path=DIR", "cold_start.data=DIR/data.jsonl", "run.dir=OUT"]


class Case:
    def __init__(self, name, make, code, words, command, seconds, during):
        self.name, self.make, self.code, self.words, self.command = name, make, code, words, command
        self.seconds, self.during = seconds, during


def case(name, words="", code=2, command=EXPORT, seconds=MORE_SECONDS, during=None):
    """Registers a function of a Folder. `words` is a regular expression that the answer must hold."""
    def register(make):
        CASES.append(Case(name, make, code, words, command, seconds, during))
        return make
    return register


def header_cases():
    good, data = good_weights()
    norm = "model.norm.weight"

    def bad_header(name, words, header, more=b"", length=None, **rest):
        case(f"header: {name}", words, **rest)(
            lambda folder: folder.weights(header() if callable(header) else header, data + more, length))

    def changed(name, words, tensor=norm, **fields):
        bad_header(name, words, good | {tensor: good[tensor] | fields})

    def text_of(header):
        return json.dumps(header).encode()

    # its length
    for name, length in {"2^63": 2**63, "2^64 - 1": 2**64 - 1, "2^64 - 8, which wraps": 2**64 - 8,
                         "100 MB + 1": 100_000_001, "one byte beyond the file": None, "0": 0}.items():
        if length is None:
            length = len(text_of(good)) + len(data) + 1
        bad_header(f"length {name}", r"header of \d+ bytes in a file|not JSON", good, length=length)
    case("header: a file of 3 bytes", "cannot hold the")(lambda f: f.write("model.safetensors", b"abc"))
    case("header: a file of 0 bytes", "cannot hold the")(lambda f: f.write("model.safetensors", b""))
    # nesting and numbers of things
    bad_header("90 MB of [", "not a JSON object", lambda: b"[" * 90_000_000)
    bad_header("90 MB of {\"a\":", "more than a list|deep", lambda: b'{"a":' * 18_000_000)
    bad_header("a value 100,000 deep and closed", "is a list, has no dtype",
               lambda: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    bad_header("shape 4 deep", "deep|more than a list", good | {norm: good[norm] | {"shape": [[[16]]]}})

    def many(count):
        entries = ",".join(f'"model.t{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(count))
        return lambda: text_of(good)[:-1] + b"," + entries.encode() + b"}"
    bad_header("40,000 names", "not one of this model's", many(40_000))
    bad_header("10^6 names", "not one of this model's", many(1_000_000), seconds=3)
    bad_header("1.5 million names", "more than 1048576 tensors", many(1_500_000), seconds=3)
    # what is JSON and what is not
    bad_header("a NUL and what follows it", "holds a NUL", text_of(good) + b"\0{}")
    bad_header("a NUL in a name", r"holds a NUL|not JSON", text_of(good).replace(b"norm", b"no\0m", 1))
    bad_header("a byte order mark", "byte order mark", b"\xef\xbb\xbf" + text_of(good))
    bad_header("invalid UTF-8", "not valid UTF-8", text_of(good).replace(b"norm", b"n\xffrm", 1))
    bad_header("overlong UTF-8", "not valid UTF-8", text_of(good).replace(b"norm", b"n\xc0\xafm", 1))
    bad_header("a surrogate in UTF-8", "not valid UTF-8", text_of(good).replace(b"norm", b"\xed\xa0\x80m", 1))
    bad_header("a lone surrogate escaped", "not JSON", text_of(good).replace(b"norm", b"\\ud800m", 1))
    bad_header("UTF-16", "NUL|UTF-8", json.dumps(good).encode("utf-16"))
    bad_header("UTF-32", "NUL|UTF-8", json.dumps(good).encode("utf-32"))
    bad_header("trailing garbage", "not JSON", text_of(good) + b"x")
    bad_header("a second header behind the first", "not JSON", text_of(good) + text_of(good))
    bad_header("a comment", "not JSON", b"/* hello */" + text_of(good))
    bad_header("broken off", "not JSON", text_of(good)[:-2])
    for name, text in {"a list": b"[1]", "null": b"null", "a number": b"3", "a text": b'"a"', "nothing": b""}.items():
        bad_header(f"is {name}", "not a JSON object|not JSON", text)
    bad_header("a tensor twice", "names 'model.norm.weight' twice",
               text_of(good)[:-1] + b"," + text_of({norm: good[norm]})[1:])
    bad_header("a field twice", "names 'dtype' twice", text_of(good).replace(b'"dtype"', b'"dtype": "F32", "dtype"', 1))
    # metadata
    for name, value in {"a list": [1], "null": None, "a text": "x"}.items():
        bad_header(f"__metadata__ is {name}", "__metadata__ is", good | {"__metadata__": value})
    for name, value in {"a number": 1, "a list": ["a"], "an object": {}}.items():
        bad_header(f"__metadata__ holds {name}", "not text|not a text", good | {"__metadata__": {"k": value}})
    bad_header("__metadata__ twice", "twice", b'{"__metadata__":{},"__metadata__":{},' + text_of(good)[1:])
    # names
    bad_header("a name of 50 MB", "not one of this model's",
               lambda: text_of(good | {"n" * 50_000_000: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}))
    bad_header("a dtype of 50 MB", "dtype .* is unknown", lambda: text_of(good | {norm: good[norm] | {"dtype": "n" * 50_000_000}}))
    for name, text in {"an escape": "\x1b[31m", "a newline": "a\nb", "a right-to-left mark": "\u202efoo",
                       "a zero-width space": "a\u200bb", "a C1 control": "\u009b31m"}.items():
        bad_header(f"a name with {name}", r"\\x", good | {text: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})
    bad_header("a name of no characters", "not one of this model's",
               good | {"": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})
    # dtypes
    for dtype in ("f32", "F33", "FLOAT", "", "F32\u0000"):
        changed(f"dtype {dtype!r}", "dtype .* is unknown", dtype=dtype)
    changed("dtype of integers", "cannot be a weight", dtype="I32")
    changed("dtype a number", "dtype 3 is unknown", dtype=3)
    changed("dtype a list", "dtype|more than a list", dtype=["F32"])
    # shapes
    for name, shape in {"a text": "16", "a number": 16, "of texts": ["16"], "negative": [-16], "a float": [16.0],
                        "2^64": [2**64], "true": [True], "null": None}.items():
        changed(f"shape {name}", "not a non-negative integer|not a list", shape=shape)
    for name, number in {"1e3": b"1e1", "a leading zero": b"016", "a plus": b"+16", "hexadecimal": b"0x10"}.items():
        bad_header(f"shape {name}", "not a non-negative integer|not JSON",
                   text_of(good).replace(b'"shape": [16]', b'"shape": [' + number + b"]", 1))
    changed("a product that overflows", "overflows", shape=[2**32, 2**32])
    changed("bytes that overflow", "overflows", shape=[2**62])
    changed("0 x 2^63", "overflows", shape=[0, 2**63])
    changed("2^63 x 0", "overflows", shape=[2**63, 0])
    changed("1,000 sizes of 1", "more than 32", shape=[1] * 1000)
    changed("transposed", r"shape \[16, 320\], expected \[320, 16\]", tensor="model.embed_tokens.weight", shape=[16, 320])
    # offsets
    at = good[norm]["data_offsets"][0]
    for name, offsets in {"backwards": [at + 64, at], "an end of 2^62": [at, 2**62], "three": [at, at + 64, at + 64],
                          "one": [at], "none": [], "2^64 - 1": [at, 2**64 - 1]}.items():
        changed(f"offsets {name}", "outside|not two numbers", data_offsets=offsets)
    for name, offsets in {"negative": [-1, at], "a text": "0", "floats": [0.0, 64.0]}.items():
        changed(f"offsets {name}", "not a non-negative integer|not a list", data_offsets=offsets)
    changed("offsets that overlap", "overlap|a hole", data_offsets=[0, 64])
    changed("a tensor one number longer than its place", "takes .* bytes", shape=[17])
    for missing in ("dtype", "shape", "data_offsets"):
        fields = {key: value for key, value in good[norm].items() if key != missing}
        bad_header(f"without {missing}", f"has no {missing}", good | {norm: fields})
    bad_header("a gap at the end", "end at byte", good, more=b"\0" * 4)
    shifted = {name: one | {"data_offsets": [n + 4 for n in one["data_offsets"]]} for name, one in good.items()}
    bad_header("the first tensor not at 0", "a hole", shifted, more=b"\0" * 4)
    bad_header("a tensor that this model has not", "not one of this model's",
               good | {"extra": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})
    case("header: data one byte short", "outside")(lambda f: f.weights(good, data[:-1]))
    case("header: half a file", "outside|cannot hold")(lambda f: f.weights(good, data[:len(data) // 2]))

    @case("header: a tensor is missing", r"'model.norm.weight' is missing \(1 in all\)")
    def _(folder):
        header, size = header_of({name: shape for name, shape in shapes().items() if name != norm})
        folder.weights(header, numbers(size // 4) + b"")

    # Characters of JSON and bits, changed by chance. What may pass is for the safetensors crate to say.
    chosen = random.Random(7)
    for number in range(40):
        text = bytearray(text_of(good))
        for _ in range(chosen.choice((1, 1, 2, 4))):
            at = chosen.randrange(len(text))
            text[at] = chosen.choice((text[at] ^ 1 << chosen.randrange(8), chosen.choice(b'{}[]":,0123456789-.eE \\')))
        bad_header(f"changed by chance, {number}", ".", bytes(text), code=(0, 2))

    # accepted, as the reference accepts them
    bad_header("blanks around it", "parameters", b"  " + text_of(good) + b"\n   ", code=0)
    bad_header("names in another order", "parameters", dict(reversed(good.items())), code=0)
    bad_header("data at odd places", "parameters", text_of(good) + b" " * ((-len(text_of(good))) % 8 + 3), code=0)
    bad_header("an unknown field", "parameters", good | {norm: good[norm] | {"more": [1, 2]}}, code=0)
    bad_header("metadata of texts", "parameters", good | {"__metadata__": {"format": "pt"}}, code=0)


def number_cases():
    header, data = good_weights()
    for name, value in {"a NaN": float("nan"), "infinity": float("inf")}.items():
        case(f"weights: {name}", "WARNING: 1 of the weights' numbers are not finite", code=0)(
            lambda folder, value=value: folder.weights(header, data[:-4] + struct.pack("<f", value)))
    case("weights: all infinite", "of the weights' numbers are not finite", code=0)(
        lambda folder: folder.weights(header, numbers(len(data) // 4, float("inf"))))

    # A file that claims to be large costs nothing before it was compared.
    @case("weights: 20 GB without content, for 6 billion parameters", "cannot hold|not JSON|header|missing")
    def _(folder):
        folder.config(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
                      num_key_value_heads=32, head_dim=128, vocab_size=32000, tie_word_embeddings=False)
        with open(folder.path / "model.safetensors", "wb") as file:
            file.truncate(20 << 30)

    @case("weights: 1 TiB without content, for a config that fits", "not JSON|header|missing")
    def _(folder):
        folder.config(hidden_size=16384, intermediate_size=65536, num_hidden_layers=100, num_attention_heads=128,
                      num_key_value_heads=128, head_dim=128, tie_word_embeddings=False)
        with open(folder.path / "model.safetensors", "wb") as file:
            file.truncate(1 << 40)

    @case("weights: a config of 10^14 parameters", "cannot hold the")
    def _(folder):
        folder.config(hidden_size=65536, intermediate_size=262144, num_hidden_layers=1024, vocab_size=1 << 24)

    # Cut short while it is read: the process is stopped as soon as it has opened the file.
    def cut_short(pid, folder):
        target = str(folder.path / "model.safetensors")
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                opened = []
                if not os.path.exists(f"/proc/{pid}"):
                    return
            if target in opened:
                os.kill(pid, signal.SIGSTOP)
                os.truncate(target, 4096)
                os.kill(pid, signal.SIGCONT)
                return
            time.sleep(0.0002)

    @case("weights: cut short while they are read", "became shorter|header of", code=(2, 3), during=cut_short, seconds=3)
    def _(folder):
        config = CONFIG | {"vocab_size": 1 << 21}
        folder.write("config.json", config)
        header, size = header_of(shapes(config))
        with open(folder.path / "model.safetensors", "wb") as file:
            file.write(safetensors(header, b""))
            for _ in range(size // (1 << 20)):
                file.write(bytes(1 << 20))
            file.write(bytes(size % (1 << 20)))


def file_cases():
    def instead(name, of, words, make):
        @case(f"{of}: {name}", words, command=TOKENIZE if of.startswith("tokenizer") else EXPORT)
        def _(folder):
            if (folder.path / of).exists():
                folder.remove(of)
            make(folder.path / of)

    for of in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer.model"):
        instead("is a folder", of, "not a regular file", lambda path: path.mkdir())
        instead("is a FIFO", of, "not a regular file", lambda path: os.mkfifo(path))
        instead("is /dev/zero", of, "not a regular file", lambda path: path.symlink_to("/dev/zero"))
        instead("is a symlink to itself", of, "symbolic links", lambda path: path.symlink_to(path))
    for of in ("model.safetensors", "config.json", "tokenizer.json"):
        instead("points to nothing", of, "no such file|holds neither", lambda path: path.symlink_to("nowhere"))

    @case("model.safetensors: is a symlink, as in Hugging Face's cache", "parameters", code=0)
    def _(folder):
        blobs = folder.path / "blobs"
        blobs.mkdir()
        (folder.path / "model.safetensors").rename(blobs / "0123")
        (folder.path / "model.safetensors").symlink_to("blobs/0123")

    # the index
    def index(name, words, change, code=2):
        @case(f"index: {name}", words, code=code)
        def _(folder):
            given = folder.shards()
            folder.write("model.safetensors.index.json", change(given, folder) or given)

    norm = "model.norm.weight"
    index("two files", "parameters", lambda given, folder: None, code=0)
    for place in ("../part0.safetensors", "/etc/passwd", "..", ".", "", "sub/part0.safetensors"):
        index(f"names {place!r}", "not a file of this directory",
              lambda given, folder, place=place: given["weight_map"].update({norm: place}))
    index("names a number", "not a file", lambda given, folder: given["weight_map"].update({norm: 3}))
    index("names a list", "not in a file", lambda given, folder: given["weight_map"].update({norm: ["part0.safetensors"]}))
    index("names a file that is not there", "no such file",
          lambda given, folder: given["weight_map"].update({norm: "part2.safetensors"}))
    index("a NUL in the name of a file", r"NUL|no such file|not a file",
          lambda given, folder: given["weight_map"].update({norm: "part0\0.safetensors"}))
    index("names the wrong file", "is missing, although",
          lambda given, folder: given["weight_map"].update({norm: "part0.safetensors" if given["weight_map"][norm].startswith(
              "part1") else "part1.safetensors"}))
    index("lists a tensor that is nowhere", "is missing, although",
          lambda given, folder: given["weight_map"].update({"nowhere": "part0.safetensors"}))
    index("does not list a tensor", "does not list it", lambda given, folder: given["weight_map"].pop(norm) and None)
    index("a total that is wrong", "total_size is", lambda given, folder: given["metadata"].update({"total_size": 17}))
    index("a total of 1e300", "total_size is", lambda given, folder: given["metadata"].update({"total_size": 1e300}))
    index("a total that is a text", "total_size is", lambda given, folder: given["metadata"].update({"total_size": "x"}))
    index("no total", "parameters", lambda given, folder: given.pop("metadata") and None, code=0)
    index("no map", "has no weight_map", lambda given, folder: given.pop("weight_map") and None)
    index("a map that is a list", "has no weight_map", lambda given, folder: given.update({"weight_map": []}))
    index("a map of nothing", "cannot hold", lambda given, folder: given.update({"weight_map": {}}))
    index("a tensor twice", "twice",
          lambda given, folder: json.dumps(given).replace('"weight_map": {', '"weight_map": {"' + norm + '": "part0.safetensors", '))
    index("the map twice", "twice", lambda given, folder: json.dumps(given)[:-1] + ', "weight_map": {}}')
    index("is a list", "not a JSON object", lambda given, folder: "[1]")
    index("90 MB of [", "not a JSON object|deep", lambda given, folder: b"[" * 90_000_000)
    index("2 million names", "more than 1048576 tensors|not one of this model's", lambda given, folder: '{"weight_map": {' + ",".join(
        f'"{i}":"part0.safetensors"' for i in range(2_000_000)) + "}}")
    index("a byte order mark", "byte order mark", lambda given, folder: b"\xef\xbb\xbf" + json.dumps(given).encode())

    @case("index: a tensor in two files", "is in part0.safetensors too")
    def _(folder):
        given = folder.shards()
        header, size = header_of({norm: [16], **{name: shape for name, shape in shapes().items()
                                                 if given["weight_map"][name] == "part1.safetensors"}})
        folder.weights(header, numbers(size // 4), name="part1.safetensors")
        first, size = header_of({norm: [16], **{name: shape for name, shape in shapes().items()
                                                if given["weight_map"][name] == "part0.safetensors"}})
        folder.weights(first, numbers(size // 4), name="part0.safetensors")
        folder.write("model.safetensors.index.json", given)

    @case("index: a file is missing", "no such file")
    def _(folder):
        folder.write("model.safetensors.index.json", folder.shards())
        folder.remove("part1.safetensors")


def config_cases():
    def config(name, words, code=2, **more):
        case(f"config.json: {name}", words, code=code)(lambda folder: folder.config(**more))

    def text(name, words, content):
        case(f"config.json: {name}", words)(lambda folder: folder.write("config.json", content()))

    whole = json.dumps(CONFIG)
    for name, value in {"a text": "1", "a float": 1.0, "2^63": 2**63, "2^64": 2**64, "0": 0, "-1": -1, "1e400": 1e308,
                        "true": True, "a list": [1]}.items():
        config(f"num_hidden_layers is {name}", "num_hidden_layers", num_hidden_layers=value)
    config("max_window_layers is 2^64 - 1", "max_window_layers", model_type="qwen2", max_window_layers=2**64 - 1)
    config("layer_types of a million", "layer_types", model_type="qwen3", layer_types=["full_attention"] * 800_000)
    config("rope_theta is NaN", "not JSON|rope_theta", rope_theta=float("nan"))
    config("a rope nobody knows", "rope_type", rope_scaling={"rope_type": "\x1b[2J"})
    config("an unknown key with an escape", r"\\x1b", **{"\x1b[31m": 1})
    config("an unknown key of 10 MB", "not known", **{"k" * 10_000_000: 1})
    config("quantised weights", "quantised", quantization_config={"quant_method": "x" * 1_000_000})
    config("a tied head beside lm_head", "parameters|num_key", code=0, num_key_value_heads=1)
    config("heads that do not divide", "does not divide", num_attention_heads=3, num_key_value_heads=2)
    text("1e400", "rope_theta|not JSON", lambda: whole[:-1] + ', "rope_theta": 1e400}')
    text("a key twice", "names 'vocab_size' twice", lambda: whole[:-1] + ', "vocab_size": 7}')
    text("200 KB of closed brackets", "deep", lambda: whole[:-1] + ', "more": ' + "[" * 100_000 + "]" * 100_000 + "}")
    text("15 MB of [", "deep", lambda: "[" * 15_000_000)
    text("7 million empty lists", "more values", lambda: whole[:-1] + ', "more": [' + "[]," * 5_000_000 + "[]]}")
    text("17 MB", "at most", lambda: whole + " " * 17_000_000)
    text("a byte order mark", "byte order mark", lambda: b"\xef\xbb\xbf" + whole.encode())
    text("a NUL", "NUL", lambda: whole + "\0")
    text("UTF-16", "NUL|UTF-8", lambda: whole.encode("utf-16"))
    text("a list", "not a JSON object", lambda: "[1]")
    text("nothing", "not JSON", lambda: "")
    for name, content in {"closed brackets": '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "no JSON": "{", "a list": "[]"}.items():
        case(f"generation_config.json: {name}", "generation_config.json", code=2)(
            lambda folder, content=content: folder.write("generation_config.json", content))


def tokenizer_cases():
    def described(name, words, change, code=2, **rest):
        @case(f"tokenizer.json: {name}", words, code=code, command=TOKENIZE, **rest)
        def _(folder):
            given = tokenizer_json()
            folder.write("tokenizer.json", change(given) or given)

    described("as it should be", r"\[.*256", lambda given: None, code=0)
    described("closed brackets where the normaliser belongs", "deep",
              lambda given: json.dumps(given).replace('"normalizer": null', '"normalizer": ' + "[" * 100_000 + "]" * 100_000))
    described("45 MB of [", "deep", lambda given: b"[" * 45_000_000)
    described("15 million empty objects", "more values", lambda given: b'{"a":[' + b"{}," * 15_000_000 + b"{}]}")
    described("65 MiB", "at most", lambda given: json.dumps(given).encode() + b" " * (65 << 20))
    described("an id of 2^64 - 1", "is not in", lambda given: given["model"]["vocab"].update({"ab": 2**64 - 1}))
    described("an id of 10^9", "is not in", lambda given: given["model"]["vocab"].update({"ab": 10**9}))
    described("an added id of 2^63", "integer id", lambda given: given["added_tokens"].append(
        {"id": 2**63, "content": "x", "special": True}))
    described("an added id of -1", "has id -1", lambda given: given["added_tokens"].append(
        {"id": -1, "content": "x", "special": True}))
    described("an added id of 2^62", "no token for id", lambda given: given["added_tokens"].append(
        {"id": 2**62, "content": "x", "special": True}))
    described("an added token twice", "twice|same id", lambda given: given["added_tokens"].append(given["added_tokens"][0]))
    described("a name with an escape", r"\\x1b", lambda given: given["added_tokens"].append({"id": 999, "content": "\x1b[31m"}))
    described("a piece twice", "twice", lambda given: json.dumps(given).replace('"ab": 256', '"ab": 256, "ab": 256'))
    described("a merge of what is no piece", "does not name two pieces", lambda given: given["model"]["merges"].append("a q\x1b"))
    described("a merge that is an object", "does not name two pieces", lambda given: given["model"]["merges"].append({}))
    described("a pattern that never ends", "is not known", lambda given: given.update({"pre_tokenizer": {
        "type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"},
                                              {"type": "ByteLevel", "use_regex": False}]}}))
    described("a pattern of 1 MB", "is not known", lambda given: given.update({"pre_tokenizer": {
        "type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "a" * 1_000_000}, "behavior": "Isolated"},
                                              {"type": "ByteLevel", "use_regex": False}]}}))
    described("no byte 0", "no piece for byte 0", lambda given: given["model"]["vocab"].pop(spelled(0)) and None)
    described("a list", "not a JSON object", lambda given: "[]")
    described("invalid UTF-8", "not valid UTF-8", lambda given: json.dumps(given).encode().replace(b'"ab"', b'"\xff"'))

    def beside(name, words, file, content, code=2):
        @case(f"{file}: {name}", words, code=code, command=TOKENIZE)
        def _(folder):
            folder.sentencepiece(sentencepiece())
            folder.write(file, content)

    beside("an id of -5", "has the id -5", "added_tokens.json", {"x": -5})
    beside("an id of 2^64 - 1", "has the id", "added_tokens.json", {"x": 2**64 - 1})
    beside("closed brackets", "deep", "added_tokens.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    beside("an id that begins with digits", "not an id", "tokenizer_config.json",
           {"added_tokens_decoder": {"290x": {"content": "y"}}})
    beside("closed brackets", "deep", "tokenizer_config.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")

    def model(name, words, content, code=2):
        case(f"tokenizer.model: {name}", words, code=code, command=TOKENIZE)(
            lambda folder: folder.sentencepiece(content() if callable(content) else content))

    def charsmap(units, texts=b"\0"):
        blob = b"".join(struct.pack("<I", unit) for unit in units)
        return field(2, struct.pack("<I", len(blob)) + blob + texts)

    model("as it should be", r"\[.*\d", sentencepiece(), code=0)
    # A tree whose root leads 2^21 units behind its end; one whose values point behind its texts; one of no size.
    model("a map of characters that leads out of itself", "map of", sentencepiece(normalizer=charsmap([0x7FFFFFFF] * 256)))
    model("a map of characters with texts outside", "map of",
          sentencepiece(normalizer=charsmap([0x80000000 | 0x00FFFFFF] * 256)))
    model("a map of characters of no size", "map of", sentencepiece(normalizer=field(2, b"\xff\xff\xff\xff")))
    model("the same for writing back", "map of", sentencepiece(tail=field(5, charsmap([0x7FFFFFFF] * 256))))
    model("the same in a second specification", "map of", sentencepiece(tail=field(3, charsmap([0x7FFFFFFF] * 256))))
    model("broken off", "malformed|not a sentencepiece", sentencepiece()[:2000])
    model("noise", "not a sentencepiece|no such file|malformed", random.Random(1).randbytes(100_000))
    model("nothing", "not a sentencepiece|malformed", b"")
    model("a group", "malformed", sentencepiece(tail=b"\x0b\x0c"))
    model("a length of 2^63", "malformed|not a sentencepiece", sentencepiece(tail=b"\x0a" + varint(2**63)))
    model("a piece of 1 MB", "more than", sentencepiece([("x" * 1_000_000, -1, 1)]))
    model("a piece with a NUL", "is not text", sentencepiece([(b"x\0y", -1, 1)]))
    model("a piece that is no UTF-8", "is not text", sentencepiece([(b"\xff\xfe", -1, 1)]))
    model("a score of NaN", "the score", sentencepiece([("abc", float("nan"), 1)]))
    model("a score of 1e38", "the score", sentencepiece([("abc", 1e38, 1)]))
    model("a piece twice", "tokenizer.model", sentencepiece([("ab", -1, 1)]))
    model("600,000 pieces", "more than 524288 pieces",
          lambda: sentencepiece() + b"".join(piece(f"x{i}", -1, 1) for i in range(600_000)))
    model("no byte pieces", "byte", b"".join(piece(*one) for one in pieces() if one[2] != 6) + field(2, field(3, 1)))
    model("a byte piece of no byte", "tokenizer.model", sentencepiece([("<0xZZ>", 0, 6)]))
    model("no unknown piece", "tokenizer.model", b"".join(piece(*one) for one in pieces()[1:]) + field(2, field(35, 1)))
    model("a kind of model that nobody knows, for a unigram one", r"\[.*\d", sentencepiece(trainer=field(3, 99)), code=0)
    model("65 MiB", "at most", lambda: sentencepiece() + b"\0" * (65 << 20))


TASK = """name: add
inputs: {x: [n], y: [n]}
outputs: {z: [n]}
reference: x + y
check: [{n: 7}]
timed: {n: 1000}
"""


def task_cases():
    def task(name, words, content):
        @case(f"task: {name}", words, command=ADMIT)
        def _(folder):
            folder.write("tasks.yaml", content() if callable(content) else content)

    task("a Latin-1 byte", r"tasks.yaml:2: byte \\xe9 is not valid UTF-8", TASK.encode().replace(b"inputs", b"inp\xe9ts"))
    task("an alias of what it is in", "tasks.yaml:2: .*alias", "tasks:\n  - &a {name: *a}\n")
    task("aliases of aliases", "aliases followed|deep", "a0: &a0 [1,1]\n" + "".join(
        f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 40)))
    task("100,000 brackets", "tasks.yaml", "[" * 100_000)
    task("100,000 closed brackets", "tasks.yaml", "[" * 100_000 + "]" * 100_000)
    task("100,000 maps in maps", "tasks.yaml", "".join(" " * i + "a:\n" for i in range(2_000)))
    task("5 million values", "more values", lambda: "[" + "," * 5_000_000 + "]")
    task("400,000 values", "tasks.yaml", lambda: "[" + "," * 399_990 + "]")
    task("a NUL", "tasks.yaml", TASK + "\0")
    task("UTF-16", "UTF-8", TASK.encode("utf-16"))
    task("a name with an escape", r"\\x1b", TASK.replace("name: add", 'name: "\\e[31m"'))
    task("a name of 10 MB", "is not allowed", lambda: TASK.replace("name: add", "name: " + "A" * 10_000_000))
    task("a size of 10^30", "is not allowed", TASK.replace("n: 7", "n: " + "9" * 30))
    task("a size of 10^18", "is not allowed", TASK.replace("n: 7", "n: " + "9" * 18))
    task("sizes that overflow together", "elements; at most", TASK.replace("[n]", "[n, n, n]").replace("1000", "200000000"))
    task("100,000 sizes of a tensor", "at most", lambda: TASK.replace("x: [n]", "x: [" + "n, " * 100_000 + "n]"))
    task("100,000 tensors", "at most", lambda: TASK.replace(
        "{x: [n], y: [n]}", "{" + ", ".join(f"x{i}: [n]" for i in range(100_000)) + "}"))
    task("100,000 dimensions", "at most", lambda: TASK + "dims: [" + ", ".join(f"n{i}" for i in range(100_000)) + "]\n")
    task("a size that is an expression without an end", "task add", TASK + "bytes: " + "(" * 100_000 + "\n")
    task("a size divided by nothing", "is inf|0 or more", TASK + "flops: n / 0\n")
    task("a magnitude of infinity", "numbers", TASK + "magnitudes: [.inf]\n")
    task("a tolerance of NaN", "tolerance", TASK + "tolerance: .nan\n")
    task("a folder", "no \\*.yaml|no such", "")
    CASES[-1].make = lambda folder: (folder.path / "tasks.yaml").mkdir()
    task("is /dev/zero", "not a regular file", "")
    CASES[-1].make = lambda folder: (folder.path / "tasks.yaml").symlink_to("/dev/zero")


def data_cases():
    good = json.dumps({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})

    def data(name, words, content, code=2):
        @case(f"data.jsonl: {name}", words, code=code, command=DRY_RUN)
        def _(folder):
            folder.write("data.jsonl", content() if callable(content) else content)

    deep = "[" * 100_000 + "]" * 100_000
    data("a message that is closed brackets", "data.jsonl:2: .*deep", good + '\n{"messages": [' + deep + "]}\n")
    data("a content that is closed brackets", "data.jsonl:1: .*deep", '{"messages": [{"role": "user", "content": ' + deep + "}]}")
    data("a weight that is closed brackets", "data.jsonl:1: .*deep", good.replace('"b"', '"b", "weight": ' + deep))
    data("a weight of NaN", "data.jsonl:1", good.replace('"b"', '"b", "weight": NaN'))
    data("a weight of 1e400", "data.jsonl:1", good.replace('"b"', '"b", "weight": 1e400'))
    data("a weight of -1", "data.jsonl:1: .*at least 0", good.replace('"b"', '"b", "weight": -1'))
    data("a key with an escape", r"\\x1b", good.replace('"b"', '"b", "\\u001b[31m": 1'))
    data("a role with an escape", r"\\x1b", good.replace('"user"', '"\\u001b[31m"'))
    data("a Latin-1 byte", "data.jsonl:1: .*UTF-8", good.encode().replace(b'"a"', b'"\xe9"'))
    data("a NUL", "data.jsonl:1", good + "\0{}")
    data("a line of 30 MB of [", "data.jsonl:1", lambda: "[" * 30_000_000)
    data("a text where the list belongs", "list of messages", '{"messages": "a"}')
    data("a key twice", "twice", good.replace('"content": "b"', '"content": "b", "content": "c"'))
    data("nothing", "no conversation", "")


for make_cases in (header_cases, number_cases, file_cases, config_cases, tokenizer_cases, task_cases, data_cases):
    make_cases()


# ---------------------------------------------------------------------------------------------------------------------- running

class Result:
    def __init__(self, code, text, seconds, mebibytes):
        self.code, self.text, self.seconds, self.mebibytes = code, text, seconds, mebibytes


class Starter:
    """Starts commands from a small process of its own: Linux counts a parent's memory as its child's largest."""

    SAYS = '''
import json, os, signal, subprocess, sys, threading
for line in sys.stdin:
    asked = json.loads(line)
    with open(asked["output"], "wb") as output:
        process = subprocess.Popen(asked["words"], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    print(process.pid, flush=True)
    clock = threading.Timer(asked["patience"], os.kill, (process.pid, signal.SIGKILL))
    clock.start()
    _, status, used = os.wait4(process.pid, 0)
    clock.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    print(json.dumps([process.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]), flush=True)
'''

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.SAYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd=ROOT)

    def run(self, words, output, during=None, patience=PATIENCE):
        """Seconds of processor time: other work on the machine does not count."""
        asked = {"words": [str(word) for word in words], "output": str(output), "patience": patience}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if during:
            during(pid)
        code, seconds, mebibytes = json.loads(self.process.stdout.readline())
        with open(output, "rb") as printed:
            text = printed.read(1_000_000).decode(errors="replace")
        return Result(code, text, seconds, mebibytes)

    def end(self):
        self.process.kill()
        self.process.communicate()


class Starters:
    """One for each thread that asks."""

    def __init__(self):
        self.own, self.all = threading.local(), []

    def run(self, *arguments):
        if not hasattr(self.own, "starter"):
            self.own.starter = Starter()
            self.all.append(self.own.starter)
        return self.own.starter.run(*arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.all:
            one.end()


class Peer:
    """The safetensors crate, in a process of its own."""

    SAYS = '''
import sys
try:
    from safetensors import deserialize
except ImportError:
    sys.exit()
for line in sys.stdin:
    try:
        with open(line.rstrip("\\n"), "rb") as file:
            deserialize(file.read())
        print("", flush=True)
    except Exception as problem:
        print(ascii(problem), flush=True)
'''

    def __init__(self):
        python = ROOT / ".deps/venv/bin/python3"
        self.lock, self.asked, self.refused = threading.Lock(), 0, 0
        self.process = subprocess.Popen([python if python.exists() else sys.executable, "-c", self.SAYS], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def why_not(self, path):
        """Why it refuses the file; nothing where it takes it, or is not installed."""
        with self.lock:
            try:
                self.process.stdin.write(f"{path}\n")
                self.process.stdin.flush()
                said = self.process.stdout.readline()
            except BrokenPipeError:
                said = ""
            self.asked += said != ""
            self.refused += said.strip() != ""
            return said.strip()

    def end(self):
        self.process.kill()
        self.process.communicate()


def words_for(command, folder):
    return [word.replace("DIR", str(folder.path)).replace("OUT", str(folder.path) + "_out") for word in command]


def problems_of(one, result, usual, times, watched):
    found = []
    if result.code not in (one.code if isinstance(one.code, tuple) else (one.code,)):
        found.append(f"exit {result.code}, not {one.code}")
    if not re.search(one.words, result.text):
        found.append(f"does not say /{one.words}/")
    if result.seconds > usual.seconds + one.seconds * times * (SANITIZED_TIMES if watched else 1):
        found.append(f"{result.seconds - usual.seconds:.1f} s more than good files")
    if result.mebibytes > MEBIBYTES and not watched:
        found.append(f"{result.mebibytes:.0f} MiB")
    if one.code != 0 and len(result.text) > LONGEST_MESSAGE:
        found.append(f"{len(result.text)} bytes of message")
    if one.code != 0 and re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", result.text):
        found.append("prints what a terminal obeys")
    return found


def usual_cost(temper, work, starters):
    """What each command takes with a file that is refused at once, or with good ones."""
    costs = {}
    for command in (EXPORT, TOKENIZE, ADMIT, DRY_RUN):
        folder = Folder(work / f"good{len(costs)}")
        folder.write("tasks.yaml", "name: 3\n")
        folder.write("data.jsonl", "{}\n")
        tries = [starters.run([temper, *words_for(command, folder)], work / "printed") for _ in range(2)]
        shutil.rmtree(str(folder.path) + "_out", ignore_errors=True)
        costs[tuple(command)] = min(tries, key=lambda one: one.seconds)
    return costs


def attempt(temper, work, one, usual, starters, times=1.0, peer=None, watched=False):
    """Makes the files, runs the command, and removes them. Returns the result and what is wrong with it."""
    folder = Folder(Path(tempfile.mkdtemp(dir=work)) / "case")
    try:
        one.make(folder)
        during = (lambda pid: one.during(pid, folder)) if one.during else None
        result = starters.run([temper, *words_for(one.command, folder)], folder.path.parent / "printed", during,
                              PATIENCE * (SANITIZED_TIMES if watched else 1))
        problems = problems_of(one, result, usual, times, watched)
        refused = peer.why_not(folder.path / "model.safetensors") if peer and one.name.startswith("header: ") else ""
        if refused and result.code == 0:
            problems.append(f"the safetensors crate refuses it: {refused[:200]}")
        return result, problems
    finally:
        shutil.rmtree(folder.path.parent, ignore_errors=True)


def main():
    options = argparse.ArgumentParser(description="Gives files that strangers wrote to do harm to the program.")
    options.add_argument("temper", type=os.path.abspath, help="the program, such as build/temper")
    options.add_argument("pattern", nargs="?", default="", help="only cases whose name this regular expression is found in")
    options.add_argument("--times", type=float, default=5, help="how many times its seconds a case may take (default 5)")
    asked = options.parse_args()
    temper, chosen = asked.temper, [one for one in CASES if re.search(asked.pattern, one.name)]
    work = Path(tempfile.mkdtemp(prefix="temper_attack_"))
    wrong, slowest, largest, peer = [], 0.0, 0.0, Peer()
    try:
        with Starters() as starters, concurrent.futures.ThreadPoolExecutor(max(2, (os.cpu_count() or 2) // 2)) as pool:
            usual = usual_cost(temper, work, starters)
            print(f"{'seconds':>7} {'MiB':>5} {'exit':>4}  case")
            costs = [usual[tuple(one.command)] for one in chosen]
            watched = sanitized(temper)
            attempts = pool.map(lambda one, cost: attempt(temper, work, one, cost, starters, asked.times, peer, watched),
                                chosen, costs)
            for one, cost, (result, found) in zip(chosen, costs, attempts):
                slowest, largest = max(slowest, result.seconds - cost.seconds), max(largest, result.mebibytes)
                print(f"{result.seconds:7.2f} {result.mebibytes:5.0f} {result.code:4}  {one.name}", flush=True)
                if found:
                    wrong.append(f"WRONG: {one.name}: {'; '.join(found)}; said {result.text[:300]!r}")
    finally:
        peer.end()
        shutil.rmtree(work, ignore_errors=True)
    for text in wrong:
        print(text)
    print(f"the safetensors crate looked at {peer.asked} of them and refused {peer.refused}")
    print(f"{len(chosen)} files, {len(wrong)} answered wrongly; at most {slowest:.2f} s more than with good files, "
          f"{largest:.0f} MiB")
    return 1 if wrong or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
