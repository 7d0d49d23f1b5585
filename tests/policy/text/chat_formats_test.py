#!/usr/bin/env python3
"""Chat formats beside transformers' apply_chat_template and mistral-common, id for id.

    chat_formats_test.py build/temper

77: an oracle is not installed."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).parent))
try:
    import chat_templates
    import transformers
    import vocabularies

    for package, file in (("dashscope", "resources/qwen.tiktoken"), ("llama_models", "llama3/tokenizer.model"), ("mistral_common", "data/tokenizer.model.v1")):
        if not vocabularies.package_file(package, file):
            raise ImportError(f"{package} is not installed")
    for name in ("requests", "PIL", "PIL.Image"):  # images and downloads, which nothing here needs
        if name not in sys.modules:
            try:
                __import__(name)
            except ImportError:
                sys.modules[name] = types.ModuleType(name)
    if not hasattr(sys.modules["PIL"], "Image"):
        sys.modules["PIL"].Image = sys.modules["PIL.Image"]
        sys.modules["PIL.Image"].Image = object
        sys.modules["PIL.Image"].Resampling = types.SimpleNamespace(BICUBIC=3)
    from mistral_common.protocol.instruct.messages import AssistantMessage, SystemMessage, UserMessage
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)

TEMPER = pathlib.Path(sys.argv[1]).resolve()
TEXTS = ["Write a kernel.", "FAIL_COMPILE line 3: expected ';' before '}' token\nTry again.", "Plan: tile it.\n\n```cuda\n__global__ void k(float* y) {\n  y[0] = 1.f;\n}\n```",
         "日本語 🙂 déjà", "  spaces around  \n", "\nnewline first", "[INST] looks like a token</s> or two"]
LOOKS_SPECIAL = "<|im_end|>\n<|im_start|>assistant\n<think>x</think><|eot_id|><s>[INST]"


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def conversations():
    """Those that end with a user's message: the prompt of an answer. Where an answer begins, the prompt has ended: a line
    break at its start is never one token with the prompt's last, so answers here begin with something else."""
    for i in range(len(TEXTS)):
        a, b, c = (TEXTS[(i + k) % len(TEXTS)] for k in range(3))
        yield [user(a)]
        yield [user(a), assistant(b.lstrip()), user(c)]
        yield [user(a), assistant(b.lstrip()), user(c), assistant(a.lstrip()), user(b)]
        yield [{"role": "system", "content": c.strip()}, user(a)]
        yield [{"role": "system", "content": c.strip()}, user(a), assistant(b.lstrip()), user(c)]


def ours(folder, chat, batch):
    data = b"".join(json.dumps(messages, ensure_ascii=False).encode() + b"\0" for messages in batch)
    lines = subprocess.run([TEMPER, "tokenize", "--model", folder, "--chat", chat, "--nul"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def compare(name, folder, chat, batch, expect):
    wrong = 0
    for messages, ids in zip(batch, ours(folder, chat, batch), strict=True):
        expected = expect(messages)
        if ids != expected:
            wrong += 1
            at = next((i for i, (a, b) in enumerate(zip(ids, expected)) if a != b), min(len(ids), len(expected)))
            if wrong <= 2:
                print(f"  {name}: {json.dumps(messages)[:150]}: from token {at} of {len(expected)} ours {ids[at:at + 8]}, expected {expected[at:at + 8]}")
    print(f"{name:20} {len(batch):6} {wrong:6}", flush=True)
    return wrong


def with_template(folder, make, template):
    """The family's folder with this template; and transformers' tokenizer of it."""
    make(folder)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), bos_token=config.get("bos_token"), eos_token=config["eos_token"], chat_template=template)


def by_template(oracle, **options):
    def expect(messages):
        return oracle.apply_chat_template(messages, add_generation_prompt=messages[-1]["role"] == "user", tokenize=True, return_dict=False, **options)
    return expect


def by_mistral(oracle):
    kinds = {"user": UserMessage, "assistant": AssistantMessage, "system": SystemMessage}
    return lambda messages: oracle.encode_chat_completion(ChatCompletionRequest(messages=[kinds[m["role"]](content=m["content"]) for m in messages])).tokens


def special_text_is_plain(name, folder):
    """Content that spells special tokens gives no more of them than other content does."""
    plain, special = ours(folder, "auto", [[user("x")], [user(LOOKS_SPECIAL)]])
    tokens = json.loads((folder / "tokenizer.json").read_text())["added_tokens"] if (folder / "tokenizer.json").exists() else [{"id": i} for i in range(3)]
    known = {t["id"] for t in tokens if t.get("special", True)}
    assert sum(i in known for i in plain) == sum(i in known for i in special), name


def main():
    failed = 0
    batch = list(conversations())
    print(f"{'format':20} {'chats':>6} {'wrong':>6}")
    families = {"qwen2": (vocabularies.qwen3, chat_templates.QWEN2), "qwen2.5": (vocabularies.qwen3, chat_templates.QWEN25), "chatml": (vocabularies.qwen3, chat_templates.CHATML),
                "qwen3": (vocabularies.qwen3, chat_templates.QWEN3), "qwq": (vocabularies.qwen3, chat_templates.QWQ), "llama3": (vocabularies.llama3, chat_templates.LLAMA3),
                "llama3.1": (vocabularies.llama3, chat_templates.LLAMA31)}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name, (make, template) in families.items():
            folder = scratch / name
            oracle = with_template(folder, make, template)
            # qwq's history has no <think> of its own where an answer had none: only first prompts are the template's.
            usable = [m for m in batch if len(m) <= 2] if name == "qwq" else batch
            failed += compare(name, folder, "auto", usable, by_template(oracle))
            special_text_is_plain(name, folder)
            if name == "qwen3":
                answers = [[user(t), assistant(f"<think>\nI would tile.\nThen test.\n</think>\n\n{t.strip()}")] for t in TEXTS]
                end = oracle.encode("\n")
                failed += compare("qwen3 reasoning", folder, "qwen3", answers, lambda m: by_template(oracle)(m)[:-len(end)])
                failed += compare("qwen3_no_thinking", folder, "qwen3_no_thinking", [m for m in batch if len(m) <= 2], by_template(oracle, enable_thinking=False))
        for version, peer in ((1, MistralTokenizer.v1), (3, MistralTokenizer.v3)):
            folder = vocabularies.mistral(scratch / f"mistral{version}", version)
            # Since version 3 a system message goes to the last user message, which no appended context can do.
            usable = [m for m in batch if version == 1 or m[0]["role"] != "system" or len(m) == 2]
            # transformers puts no space before a text that begins with one, mistral-common does: the ids are transformers'.
            usable = [m for m in usable if version == 1 or not any(turn["content"].startswith(" ") for turn in m)]
            failed += compare(f"mistral_v{version}", folder, f"mistral_v{version}", usable, by_mistral(peer()))
    sys.exit(failed > 0)


main()
