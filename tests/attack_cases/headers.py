"""Attacks on the header of a safetensors file: its length, its JSON, and what it says of tensors."""

import json
import random

from .case import case
from .good_files import NORM, good_weights, header_of, numbers, shapes

GOOD, DATA = good_weights()


def bad_header(name, words, header, more=b"", length=None, **rest):
    case(f"header: {name}", words, **rest)(
        lambda folder: folder.weights(header() if callable(header) else header, DATA + more, length))


def changed(name, words, tensor=NORM, **fields):
    bad_header(name, words, GOOD | {tensor: GOOD[tensor] | fields})


def text_of(header):
    return json.dumps(header).encode()


def lengths():
    for name, length in {"2^63": 2**63, "2^64 - 1": 2**64 - 1, "2^64 - 8, which wraps": 2**64 - 8,
                         "100 MB + 1": 100_000_001, "one byte beyond the file": None, "0": 0}.items():
        if length is None:
            length = len(text_of(GOOD)) + len(DATA) + 1
        bad_header(f"length {name}", r"header of \d+ bytes: it is no|cut short, or no|not JSON", GOOD, length=length)
    case("header: a file of 3 bytes", "3 bytes are no safetensors file")(lambda f: f.write("model.safetensors", b"abc"))
    case("header: a file of 0 bytes", "0 bytes are no safetensors file")(lambda f: f.write("model.safetensors", b""))


def nesting_and_numbers_of_things():
    bad_header("90 MB of [", "not a JSON object", lambda: b"[" * 90_000_000)
    bad_header("90 MB of {\"a\":", "more than a list|deep", lambda: b'{"a":' * 18_000_000)
    bad_header("a value 100,000 deep and closed", "is a list, has no dtype",
               lambda: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    bad_header("shape 4 deep", "deep|more than a list", GOOD | {NORM: GOOD[NORM] | {"shape": [[[16]]]}})

    def many(count):
        entries = ",".join(f'"model.t{i}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(count))
        return lambda: text_of(GOOD)[:-1] + b"," + entries.encode() + b"}"
    bad_header("40,000 names", "not one of this model's", many(40_000))
    bad_header("10^6 names", "not one of this model's", many(1_000_000), seconds=3)
    bad_header("1.5 million names", "more than 1048576 tensors", many(1_500_000), seconds=3)


def what_is_no_json():
    bad_header("a NUL and what follows it", "holds a NUL", text_of(GOOD) + b"\0{}")
    bad_header("a NUL in a name", r"holds a NUL|not JSON", text_of(GOOD).replace(b"norm", b"no\0m", 1))
    bad_header("a byte order mark", "byte order mark", b"\xef\xbb\xbf" + text_of(GOOD))
    bad_header("invalid UTF-8", "not valid UTF-8", text_of(GOOD).replace(b"norm", b"n\xffrm", 1))
    bad_header("overlong UTF-8", "not valid UTF-8", text_of(GOOD).replace(b"norm", b"n\xc0\xafm", 1))
    bad_header("a surrogate in UTF-8", "not valid UTF-8", text_of(GOOD).replace(b"norm", b"\xed\xa0\x80m", 1))
    bad_header("a lone surrogate escaped", "not JSON", text_of(GOOD).replace(b"norm", b"\\ud800m", 1))
    bad_header("UTF-16", "NUL|UTF-8", json.dumps(GOOD).encode("utf-16"))
    bad_header("UTF-32", "NUL|UTF-8", json.dumps(GOOD).encode("utf-32"))
    bad_header("trailing garbage", "not JSON", text_of(GOOD) + b"x")
    bad_header("a second header behind the first", "not JSON", text_of(GOOD) + text_of(GOOD))
    bad_header("a comment", "not JSON", b"/* hello */" + text_of(GOOD))
    bad_header("broken off", "not JSON", text_of(GOOD)[:-2])
    for name, text in {"a list": b"[1]", "null": b"null", "a number": b"3", "a text": b'"a"', "nothing": b""}.items():
        bad_header(f"is {name}", "not a JSON object|not JSON", text)
    bad_header("a tensor twice", "names 'model.norm.weight' twice",
               text_of(GOOD)[:-1] + b"," + text_of({NORM: GOOD[NORM]})[1:])
    bad_header("a field twice", "names 'dtype' twice", text_of(GOOD).replace(b'"dtype"', b'"dtype": "F32", "dtype"', 1))


def metadata():
    for name, value in {"a list": [1], "null": None, "a text": "x"}.items():
        bad_header(f"__metadata__ is {name}", "__metadata__ is", GOOD | {"__metadata__": value})
    for name, value in {"a number": 1, "a list": ["a"], "an object": {}}.items():
        bad_header(f"__metadata__ holds {name}", "not text|not a text", GOOD | {"__metadata__": {"k": value}})
    bad_header("__metadata__ twice", "twice", b'{"__metadata__":{},"__metadata__":{},' + text_of(GOOD)[1:])


def texts_that_messages_show():
    bad_header("a name of 50 MB", "not one of this model's",
               lambda: text_of(GOOD | {"n" * 50_000_000: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}))
    bad_header("a dtype of 50 MB", "dtype .* is unknown", lambda: text_of(GOOD | {NORM: GOOD[NORM] | {"dtype": "n" * 50_000_000}}))
    for name, text in {"an escape": "\x1b[31m", "a newline": "a\nb", "a right-to-left mark": "\u202efoo",
                       "a zero-width space": "a\u200bb", "a C1 control": "\u009b31m"}.items():
        bad_header(f"a name with {name}", r"\\x", GOOD | {text: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})
    bad_header("a name of no characters", "not one of this model's",
               GOOD | {"": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})


def dtypes():
    for dtype in ("f32", "F33", "FLOAT", "", "F32\u0000"):
        changed(f"dtype {dtype!r}", "dtype .* is unknown", dtype=dtype)
    changed("dtype of integers", "cannot be a weight", dtype="I32")
    changed("dtype a number", "dtype 3 is unknown", dtype=3)
    changed("dtype a list", "dtype|more than a list", dtype=["F32"])


def tensor_shapes():
    for name, shape in {"a text": "16", "a number": 16, "of texts": ["16"], "negative": [-16], "a float": [16.0],
                        "2^64": [2**64], "true": [True], "null": None}.items():
        changed(f"shape {name}", "not a non-negative integer|not a list", shape=shape)
    for name, number in {"1e3": b"1e1", "a leading zero": b"016", "a plus": b"+16", "hexadecimal": b"0x10"}.items():
        bad_header(f"shape {name}", "not a non-negative integer|not JSON",
                   text_of(GOOD).replace(b'"shape": [16]', b'"shape": [' + number + b"]", 1))
    changed("a product that overflows", "overflows", shape=[2**32, 2**32])
    changed("bytes that overflow", "overflows", shape=[2**62])
    changed("0 x 2^63", "overflows", shape=[0, 2**63])
    changed("2^63 x 0", "overflows", shape=[2**63, 0])
    changed("1,000 sizes of 1", "more than 32", shape=[1] * 1000)
    changed("transposed", r"shape \[16, 320\], expected \[320, 16\]", tensor="model.embed_tokens.weight", shape=[16, 320])


def offsets_of_data():
    at = GOOD[NORM]["data_offsets"][0]
    for name, offsets in {"backwards": [at + 64, at], "an end of 2^62": [at, 2**62], "three": [at, at + 64, at + 64],
                          "one": [at], "none": [], "2^64 - 1": [at, 2**64 - 1]}.items():
        changed(f"offsets {name}", "no range|cut short|not two numbers|takes 64 bytes", data_offsets=offsets)
    for name, offsets in {"negative": [-1, at], "a text": "0", "floats": [0.0, 64.0]}.items():
        changed(f"offsets {name}", "not a non-negative integer|not a list", data_offsets=offsets)
    changed("offsets that overlap", "overlap|a hole", data_offsets=[0, 64])
    changed("a tensor one number longer than its place", "takes .* bytes", shape=[17])


def what_is_missing_or_too_much():
    for missing in ("dtype", "shape", "data_offsets"):
        fields = {key: value for key, value in GOOD[NORM].items() if key != missing}
        bad_header(f"without {missing}", f"has no {missing}", GOOD | {NORM: fields})
    bad_header("a gap at the end", "end at byte", GOOD, more=b"\0" * 4)
    shifted = {name: one | {"data_offsets": [n + 4 for n in one["data_offsets"]]} for name, one in GOOD.items()}
    bad_header("the first tensor not at 0", "a hole", shifted, more=b"\0" * 4)
    bad_header("a tensor that this model has not", "not one of this model's",
               GOOD | {"extra": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})
    case("header: data one byte short", r"cut short: its header describes a file of \d+ bytes")(lambda f: f.weights(GOOD, DATA[:-1]))
    case("header: half a file", "cut short")(lambda f: f.weights(GOOD, DATA[:len(DATA) // 2]))

    @case("header: a tensor is missing", r"'model.norm.weight' is missing \(1 in all\)")
    def _(folder):
        header, size = header_of({name: shape for name, shape in shapes().items() if name != NORM})
        folder.weights(header, numbers(size // 4) + b"")


def changes_by_chance():
    """Characters of JSON and bits. What may pass is for the safetensors crate to say."""
    chosen = random.Random(7)
    for number in range(40):
        text = bytearray(text_of(GOOD))
        for _ in range(chosen.choice((1, 1, 2, 4))):
            at = chosen.randrange(len(text))
            text[at] = chosen.choice((text[at] ^ 1 << chosen.randrange(8), chosen.choice(b'{}[]":,0123456789-.eE \\')))
        bad_header(f"changed by chance, {number}", ".", bytes(text), code=(0, 2))


def what_is_accepted():
    """As the reference does."""
    bad_header("blanks around it", "parameters", b"  " + text_of(GOOD) + b"\n   ", code=0)
    bad_header("names in another order", "parameters", dict(reversed(GOOD.items())), code=0)
    bad_header("data at odd places", "parameters", text_of(GOOD) + b" " * ((-len(text_of(GOOD))) % 8 + 3), code=0)
    bad_header("an unknown field", "parameters", GOOD | {NORM: GOOD[NORM] | {"more": [1, 2]}}, code=0)
    bad_header("metadata of texts", "parameters", GOOD | {"__metadata__": {"format": "pt"}}, code=0)


def header_cases():
    for make_cases in (lengths, nesting_and_numbers_of_things, what_is_no_json, metadata, texts_that_messages_show, dtypes,
                       tensor_shapes, offsets_of_data, what_is_missing_or_too_much, changes_by_chance, what_is_accepted):
        make_cases()
