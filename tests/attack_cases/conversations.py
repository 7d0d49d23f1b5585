"""Attacks on the JSON lines of conversations."""

import gzip
import json

from .case import DRY_RUN, case


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
    data("a row that unpacks to 100 MB", "most that a row may have|times its size", lambda: gzip.compress(b'{"a": "' + b" " * 100_000_000))
    data("spaces that unpack to 100 MB", "most that a row may have|times its size", lambda: gzip.compress(b" " * 100_000_000))
    data("rows that unpack to 150 MB", "times its size", lambda: gzip.compress((b" " * 5_000_000 + good.encode() + b"\n") * 30))
    data("a packed file that is cut", "fetch the file again", gzip.compress(good.encode())[:-5])
    data("a zip archive", "`unzip ", b"PK\3\4" + bytes(100))
    data("a name with a quote in what is proposed", "zstd -d '", b"\x28\xb5\x2f\xfd")
    data("a list of a million lists", "data.jsonl:1: .*must be an object", "[" + "[], " * 1_000_000)
    data("a million keys", "its fields are", "{" + ", ".join(f'"{i}": 1' for i in range(900_000)) + "}")
    data("names of 4,000 bytes", "its fields are", "{" + ", ".join(f'"{i}{"x" * 4000}": 1' for i in range(100)) + "}")
    data("objects in objects", "it has no form", '{"a": ' * 30 + "1" + "}" * 30)
    data("nothing", "no conversation", "")
