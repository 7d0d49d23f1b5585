"""Published vocabularies as Hugging Face folders, made from the packages that carry them (tools/bootstrap --oracles)."""

import base64
import importlib.util
import json
import pathlib

QWEN_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                r"|\s+(?!\S)|\s+")
LLAMA3_PATTERN = QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
QWEN3_ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
               "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
               "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>",
               "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
               "<think>", "</think>"]
QWEN3_PLAIN = QWEN3_ADDED[14:]  # added, but not special


def package_file(package, name):
    """Where an installed package keeps a file; None where it is not installed."""
    found = importlib.util.find_spec(package)
    if found is None:
        return None
    path = pathlib.Path(found.origin).parent / name
    return path if path.exists() else None


def byte_alphabet():
    """GPT-2's: a printable character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


ALPHABET = byte_alphabet()


def spelled(token):
    return "".join(ALPHABET[b] for b in token)


def merges_of(ranks):
    """The merges that give these ranks, as transformers recovers them from tiktoken files."""
    merges = []
    for token, rank in ranks.items():
        pairs = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in ranks and token[i:] in ranks]
        merges += [(rank, ranks[a], ranks[b], a, b) for a, b in pairs]
    return [[spelled(a), spelled(b)] for *_, a, b in sorted(merges)]


def tokenizer_json(ranks, pattern, added, plain=(), normalizer=None, ignore_merges=False):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": pattern is None}
    pre_tokenizer = level if pattern is None else {"type": "Sequence", "pretokenizers": [split, level]}
    tokens = [{"id": len(ranks) + i, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
               "normalized": False, "special": name not in plain} for i, name in enumerate(added)]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "ignore_merges": ignore_merges, "vocab": {spelled(t): r for t, r in ranks.items()},
                      "merges": merges_of(ranks)}}


def read_tiktoken(path):
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, bytes) else json.dumps(content, ensure_ascii=False).encode()
        (folder / name).write_bytes(text)
    return folder


def qwen3(folder):
    ranks = read_tiktoken(package_file("dashscope", "resources/qwen.tiktoken"))
    added = QWEN3_ADDED
    config = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    return write(folder, {"tokenizer.json": tokenizer_json(ranks, QWEN_PATTERN, added, QWEN3_PLAIN, {"type": "NFC"}),
                          "tokenizer_config.json": config})


def gpt2_pattern(folder):
    """A byte-level tokenizer with GPT-2's own pattern, over Qwen's ranks."""
    ranks = read_tiktoken(package_file("dashscope", "resources/qwen.tiktoken"))
    return write(folder, {"tokenizer.json": tokenizer_json(ranks, None, ["<|endoftext|>"])})


def llama3(folder):
    ranks = read_tiktoken(package_file("llama_models", "llama3/tokenizer.model"))
    named = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
             "<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>",
             "<|eot_id|>", "<|python_tag|>"]
    added = named + [f"<|reserved_special_token_{i}|>" for i in range(2, 256 - len(named) + 2)]
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}
    return write(folder, {"tokenizer.json": tokenizer_json(ranks, LLAMA3_PATTERN, added, ignore_merges=True),
                          "tokenizer_config.json": config})


def mistral(folder, version):
    names = {1: "tokenizer.model.v1", 3: "mistral_instruct_tokenizer_240323.model.v3"}
    model = package_file("mistral_common", f"data/{names[version]}").read_bytes()
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return write(folder, {"tokenizer.model": model, "tokenizer_config.json": config})
