"""Attacks on tokenizer.json, on tokenizer.model and on the files beside it."""

import json
import random
import struct

from .case import TOKENIZE, case
from .good_files import field, piece, pieces, sentencepiece, spelled, tokenizer_json, varint


def described(name, words, change, code=2, **rest):
    @case(f"tokenizer.json: {name}", words, code=code, command=TOKENIZE, **rest)
    def _(folder):
        given = tokenizer_json()
        folder.write("tokenizer.json", change(given) or given)


def json_cases():
    described("as it should be", r"\[.*256", lambda given: None, code=0)
    described("closed brackets where the normaliser belongs", "deep",
              lambda given: json.dumps(given).replace('"normalizer": null', '"normalizer": ' + "[" * 100_000 + "]" * 100_000))
    described("45 MB of [", "deep", lambda given: b"[" * 45_000_000)
    described("15 million empty objects", "more values", lambda given: b'{"a":[' + b"{}," * 15_000_000 + b"{}]}")
    described("65 MiB", "at most", lambda given: json.dumps(given).encode() + b" " * (65 << 20))
    described("an id of 2^64 - 1", "is not in", lambda given: given["model"]["vocab"].update({"ab": 2**64 - 1}))
    described("an id of 10^9", "is not in", lambda given: given["model"]["vocab"].update({"ab": 10**9}))
    described("an added id of 2^63", "an id of 0 to 4294967295", lambda given: given["added_tokens"].append(
        {"id": 2**63, "content": "x", "special": True}))
    described("an added id of -1", "an id of 0 to 4294967295", lambda given: given["added_tokens"].append(
        {"id": -1, "content": "x", "special": True}))
    described("an added id of 2^62", "an id of 0 to 4294967295", lambda given: given["added_tokens"].append(
        {"id": 2**62, "content": "x", "special": True}))
    # As `tokenizers` does, which gives the ids itself.
    described("an added token twice", r"\[.*256", lambda given: given["added_tokens"].append(given["added_tokens"][0]), code=0)
    described("a name with an escape", r"\[.*256", lambda given: given["added_tokens"].append({"id": 999, "content": "\x1b[31m"}), code=0)
    described("a piece twice", "twice", lambda given: json.dumps(given).replace('"ab": 256', '"ab": 256, "ab": 256'))
    described("a merge of what is no piece", "does not name two pieces", lambda given: given["model"]["merges"].append("a q\x1b"))
    described("a merge that is an object", "does not name two pieces", lambda given: given["model"]["merges"].append({}))
    described("a pattern that never ends", "is not known", lambda given: given.update({"pre_tokenizer": {
        "type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"},
                                              {"type": "ByteLevel", "use_regex": False}]}}))
    described("a pattern of 1 MB", "is not known", lambda given: given.update({"pre_tokenizer": {
        "type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "a" * 1_000_000}, "behavior": "Isolated"},
                                              {"type": "ByteLevel", "use_regex": False}]}}))
    described("no byte 0", "gets id 256, which a piece of model.vocab has", lambda given: given["model"]["vocab"].pop(spelled(0)) and None)
    described("a list", "not a JSON object", lambda given: "[]")
    described("invalid UTF-8", "not valid UTF-8", lambda given: json.dumps(given).encode().replace(b'"ab"', b'"\xff"'))


def beside(name, words, file, content, code=2):
    @case(f"{file}: {name}", words, code=code, command=TOKENIZE)
    def _(folder):
        folder.sentencepiece(sentencepiece())
        folder.write(file, content)


def cases_beside_sentencepiece():
    beside("an id of -5", "has the id -5", "added_tokens.json", {"x": -5})
    beside("an id of 2^64 - 1", "has the id", "added_tokens.json", {"x": 2**64 - 1})
    beside("closed brackets", "deep", "added_tokens.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    beside("an id that begins with digits", "is no id", "tokenizer_config.json",
           {"added_tokens_decoder": {"290x": {"content": "y"}}})
    beside("closed brackets", "deep", "tokenizer_config.json", '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")


def model(name, words, content, code=2):
    case(f"tokenizer.model: {name}", words, code=code, command=TOKENIZE)(
        lambda folder: folder.sentencepiece(content() if callable(content) else content))


def charsmap(units, texts=b"\0"):
    blob = b"".join(struct.pack("<I", unit) for unit in units)
    return field(2, struct.pack("<I", len(blob)) + blob + texts)


def sentencepiece_cases():
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
