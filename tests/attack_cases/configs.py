"""Attacks on config.json and generation_config.json."""

import json

from .case import case
from .good_files import CONFIG


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
