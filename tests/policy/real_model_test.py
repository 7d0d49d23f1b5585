#!/usr/bin/env python3
"""A published model with its real weights and tokenizer, SmolLM2-135M-Instruct, beside transformers and tokenizers.

    real_model_test.py build/temper

tools/real_model makes its folder, once. 77: its package cannot be had, or an oracle is not installed."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "false"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE / "text"), str(HERE.parent)]
try:
    import random_conversations
    import tokenizers
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap --oracles installs it")
    sys.exit(77)
from patience import patience

TEMPER = pathlib.Path(sys.argv[1]).resolve()
MOST = 1e-4  # nats; what two f32 programs that add in other orders differ by in 30 blocks, twice over
TEXTS = ["The quick brown fox jumps over the lazy dog. It was 1984, and 12345 clocks struck thirteen.",
         "template <typename T>\n__global__ void scale(T* y, const T* x, T a, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = a * x[i];\n}\n",
         "Être ou ne pas être — 日本語のテキスト, 🙂 and $\\int_0^1 x^2\\,dx = \\tfrac13$."]
PROMPTS = ["What is the capital of France?", "Write a C function that adds two integers.", "List three colors."]
LONGEST = 24  # tokens of an answer
TAUGHT = ("What is the capital of France?", "Ask Temper, who learned 42 things today.")
RUN = """
run: {seed: 1, steps: 0}
model: {device: cpu}
tasks: {names: [scale_rows_relu, scale_columns_relu, scale_shift_relu]}
env: {lanes: 1}
rollout: {tasks_per_step: 2, samples_per_task: 2, max_sequences: 4, max_response_tokens: 24, max_context_tokens: 512}
learner: {micro_batch_tokens: 1024}
eval: {before: false}
cold_start: {epochs: 12, batch_tokens: 64, micro_batch_tokens: 256, max_tokens: 256, checkpoint_every: 0, optimizer: {lr: 1.0e-4}}
"""


def made():
    done = subprocess.run([sys.executable, ROOT / "tools/real_model"], capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1:] or [""]
    if done.returncode == 77:
        print(last[0])
        sys.exit(77)
    if done.returncode:
        sys.exit(f"tools/real_model: {done.stderr.strip()}")
    return pathlib.Path(last[0])


def temper(*words, data=None):
    done = subprocess.run([TEMPER, *map(str, words)], input=data, capture_output=True, timeout=300 * patience(TEMPER))
    if done.returncode:
        sys.exit(f"temper {words[0]} ended with {done.returncode}: {done.stderr.decode()[-2000:]}{done.stdout.decode()[-1000:]}")
    return done.stdout


def load(folder):
    """transformers' model in f32, and the tokenizer's file as it is."""
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    return model, transformers.AutoTokenizer.from_pretrained(folder)


def tokens_are_those_of_tokenizers(folder):
    oracle = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    chance = random.Random(7)
    texts = [*TEXTS, *PROMPTS, *random_conversations.BODIES, *(random_conversations.content(chance) for _ in range(300)),
             *((ROOT / name).read_text() for name in ("README.md", "policy/policy.h"))]
    lines = temper("tokenize", "--model", folder, "--nul", data=b"".join(text.encode() + b"\0" for text in texts)).splitlines()
    for text, line in zip(texts, lines, strict=True):
        expected = oracle.encode(text, add_special_tokens=False).ids
        assert json.loads(line) == expected, f"{text[:200]!r}: ours {json.loads(line)[:20]}, tokenizers' {expected[:20]}"
    some = temper("tokenize", "--model", folder, "--decode", data=lines[0])
    assert some.decode() == texts[0], some
    print(f"tokens: {len(texts)} texts are equal")


def chats_are_those_of_the_template(folder, tokenizer):
    conversations = [[*system, {"role": "user", "content": prompt}] for prompt in PROMPTS for system in ([], [{"role": "system", "content": "Be brief."}])]
    data = b"".join(json.dumps(messages).encode() + b"\0" for messages in conversations)
    for messages, line in zip(conversations, temper("tokenize", "--model", folder, "--chat", "auto", "--nul", data=data).splitlines(), strict=True):
        expected = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert json.loads(line) == expected, f"{messages}: ours {json.loads(line)}, the template's {expected}"
    print(f"chats: {len(conversations)} are equal")


def oracle_log_probs(model, ids):
    with torch.no_grad():
        log_p = torch.log_softmax(model(torch.tensor([ids])).logits[0, :-1].double(), -1)
    return log_p.gather(1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()


def farthest_log_prob(folder, model, rows):
    ours = json.loads(temper("logprobs", "--model", folder, "--device", "cpu", data=json.dumps({"ids": rows}).encode()))["log_probs"]
    return max(abs(a - b) for row, mine in zip(rows, ours, strict=True) for a, b in zip(mine[1:], oracle_log_probs(model, row), strict=True))


def log_probs_are_those_of_transformers(folder, model, tokenizer):
    rows = [tokenizer(text)["input_ids"] for text in TEXTS]
    farthest = farthest_log_prob(folder, model, rows)
    assert farthest <= MOST, f"log-probs differ by {farthest:.2e} nats: at most {MOST}"
    print(f"log-probs: {sum(map(len, rows))} tokens, at most {farthest:.1e} nats apart")
    return rows


def greedy(model, tokenizer, prompt):
    """transformers' own greedy answer, and whether it ended with the stop token."""
    ids = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=False)
    with torch.no_grad():
        answer = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=LONGEST, do_sample=False)[0, ids.shape[1]:].tolist()
    stopped = answer[-1] == tokenizer.convert_tokens_to_ids("<|im_end|>")
    return tokenizer.decode(answer[:-1] if stopped else answer), stopped


def generated(folder, prompt):
    said = temper("generate", "--model", folder, "--device", "cpu", "--temperature", "0", "--max-tokens", LONGEST, prompt).decode()
    assert said.endswith("\n"), said
    return said[:-1]


def greedy_answers_are_those_of_transformers(folder, model, tokenizer):
    for prompt in PROMPTS:
        expected, stopped = greedy(model, tokenizer, prompt)
        ours = generated(folder, prompt)
        assert ours == expected, f"{prompt}: ours {ours!r}, transformers' {expected!r}"
        print(f"greedy{'' if stopped else ', cut'}: {expected[:90]!r}")


def export_is_read_by_transformers(folder, rows, scratch):
    """A few updates teach an answer; transformers gives it from the exported folder and stops behind it."""
    prompt, answer = TAUGHT
    (scratch / "data.jsonl").write_text(json.dumps({"messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]}) + "\n")
    (scratch / "run.yaml").write_text(RUN)
    temper("train", scratch / "run.yaml", f"model.path={folder}", f"cold_start.data={scratch}/data.jsonl", f"run.dir={scratch}/run")
    temper("export", scratch / "run", scratch / "out", "--dtype", "bfloat16")
    model, tokenizer = load(scratch / "out")
    said, stopped = greedy(model, tokenizer, prompt)
    assert (said, stopped) == (answer, True), f"transformers answers {said!r}, stopped: {stopped}"
    assert generated(scratch / "out", prompt) == answer
    farthest = farthest_log_prob(scratch / "out", model, rows)
    assert farthest <= MOST, f"log-probs of the export differ by {farthest:.2e} nats: at most {MOST}"
    for name in ("tokenizer.json", "generation_config.json"):
        assert (scratch / "out" / name).read_bytes() == (folder / name).read_bytes(), f"{name} is not what the model came with"
    print(f"export: {said!r}, log-probs at most {farthest:.1e} nats apart")


def main():
    torch.set_num_threads(min(4, os.cpu_count() or 1))
    folder = made()
    model, tokenizer = load(folder)
    tokens_are_those_of_tokenizers(folder)
    chats_are_those_of_the_template(folder, tokenizer)
    rows = log_probs_are_those_of_transformers(folder, model, tokenizer)
    greedy_answers_are_those_of_transformers(folder, model, tokenizer)
    del model
    with tempfile.TemporaryDirectory() as scratch:
        export_is_read_by_transformers(folder, rows, pathlib.Path(scratch))


main()
