"""Attacks on the JSON lines of conversations."""

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
    data("nothing", "no conversation", "")
