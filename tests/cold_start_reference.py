#!/usr/bin/env python3
"""Fine-tuning a small Qwen3 folder on a data file beside transformers and torch.optim.AdamW, f32, same data, same order.

usage: cold_start_reference.py TEMPER [--steps 200] [--lr 3e-3]     exit 77: transformers is not installed

Two f32 programs that add in other orders drift apart, and AdamW multiplies small differences of small gradients. How
far is no guess: torch does the same in f64 as well, and Temper may be no farther from that curve than a few times as far
as torch's own f32 is.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap installs it")
    sys.exit(77)

ROWS, BATCH_TOKENS, SEED = 24, 500, 3
TIMES, ROUNDING = 4.0, 2e-6  # of torch's own distance; nats
LR, WARMUP, DECAY, CLIP = 3e-3, 0.1, 0.05, 1.0
BETA1, BETA2 = 0.9, 0.999
CONFIG = f"""
run: {{seed: {SEED}, steps: 0, trajectories: raw}}
model: {{device: cpu, vocab_size: 512, hidden_size: 64, intermediate_size: 96, num_hidden_layers: 2, num_attention_heads: 4,
        num_key_value_heads: 2, head_dim: 16, max_position_embeddings: 512, tie_word_embeddings: false}}
tasks: {{names: [scale_rows_relu, scale_columns_relu, scale_shift_relu]}}
env: {{lanes: 1}}
rollout: {{tasks_per_step: 2, max_response_tokens: 48, max_context_tokens: 512}}
eval: {{before: false}}
cold_start: {{batch_tokens: {BATCH_TOKENS}, optimizer: {{lr: {LR}, schedule: linear, warmup: {WARMUP}, weight_decay: {DECAY}, clip: {CLIP},
                                                     beta1: {BETA1}, beta2: {BETA2}}}}}
"""
ROOT = pathlib.Path(__file__).resolve().parent.parent
MASK64 = 2**64 - 1


def conversations():
    for i in range(ROWS):
        messages = [{"role": "system", "content": "Write kernels."}] if i % 3 == 0 else []
        for turn in range(1 + i % 2):
            expression = f"{1 + i % 5} * x[i]" + " + z[i]" * (i % 4)
            messages += [{"role": "user", "content": f"Kernel {i}, attempt {turn}: y = {expression}" + " please" * (7 * i % 11)},
                         {"role": "assistant", "content": f"One pass.\n```cpp\ny[i] = {expression};\n```\n",
                          **({"weight": 0.5} if i % 5 == 0 else {}), **({"train": False} if i % 2 and turn == 0 else {})}]
        yield messages


def mix_key(parts):  # base/rng.h
    h = 0x9E3779B97F4A7C15
    for part in parts:
        h = (h + part + 0x9E3779B97F4A7C15) & MASK64
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & MASK64
        h = (h ^ h >> 27) * 0x94D049BB133111EB & MASK64
        h ^= h >> 31
    return h


def philox(key, n):
    counter, key = [n & 0xFFFFFFFF, n >> 32, 0, 0], [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [p1 >> 32 ^ counter[1] ^ key[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ counter[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter[0] << 32 | counter[1]


def updates_of(rows, epochs):
    """trainer/cold_start/cold_start.h: each epoch's rows shuffled, then about BATCH_TOKENS together."""
    for epoch in range(epochs):
        order, key, drawn = list(range(len(rows))), mix_key([SEED, epoch]), 0
        for i in range(len(order), 1, -1):
            j = philox(key, drawn) * i >> 64
            order[i - 1], order[j], drawn = order[j], order[i - 1], drawn + 1
        update, tokens = [], 0
        for row in (rows[k] for k in order):
            if update and tokens + len(row[0]) > BATCH_TOKENS:
                yield update
                update, tokens = [], 0
            update, tokens = update + [row], tokens + len(row[0])
        yield update


def render(tokenizer, messages):
    """ids and the weight of each: ChatML."""
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False)
    start, stop = (tokenizer.convert_tokens_to_ids(f"<|im_{word}|>") for word in ("start", "end"))
    ids, weights = [], []
    for message in messages:
        head, body, tail = [start] + encode(message["role"] + "\n"), encode(message["content"]) + [stop], encode("\n")
        weight = message.get("weight", 1) * message.get("train", True) if message["role"] == "assistant" else 0
        ids += head + body + tail
        weights += [0] * len(head) + [weight] * len(body) + [0] * len(tail)
    return ids[:-len(tail)], weights[:-len(tail)]


def learning_rate(progress):
    if progress < WARMUP:
        return LR * progress / WARMUP
    return LR * (1 - min(1, (progress - WARMUP) / (1 - WARMUP)))


def torch_losses(folder, updates, dtype):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=LR, betas=(BETA1, BETA2), eps=1e-8)
    losses = []
    for k, update in enumerate(updates):
        total, loss = sum(sum(weights) for _, weights in update), 0.0
        for ids, weights in update:
            log_p = torch.log_softmax(model(torch.tensor([ids])).logits[0, :-1], -1)
            chosen = log_p.gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
            part = -(chosen * torch.tensor(weights[1:], dtype=dtype)).sum() / total
            part.backward()
            loss += part.item()
        norm = math.sqrt(sum((p.grad.double()**2).sum().item() for p in model.parameters()))
        for parameter in model.parameters():
            parameter.grad *= min(1.0, CLIP / norm)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate((k + 0.5) / len(updates))
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss)
    return losses


def train(temper, config, *words):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TEMPER_", "OMPI_", "PMIX_", "SLURM_"))}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        environment.pop(name, None)
    subprocess.run([temper, "train", config, *words], check=True, stdout=subprocess.DEVNULL, env=environment, cwd=ROOT)


def main():
    temper = pathlib.Path(sys.argv[1]).resolve()
    steps = int(sys.argv[sys.argv.index("--steps") + 1]) if "--steps" in sys.argv else 20
    global LR
    LR = float(sys.argv[sys.argv.index("--lr") + 1]) if "--lr" in sys.argv else LR
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        config, data = work / "tiny.yaml", work / "data.jsonl"
        config.write_text(CONFIG)
        data.write_text("".join(json.dumps({"messages": messages}) + "\n" for messages in conversations()))
        train(temper, config, f"cold_start.data={data}", "cold_start.epochs=0", f"run.dir={work / 'start'}")
        folder = work / "start/checkpoints/cold_start"
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
        rows = [render(tokenizer, messages) for messages in conversations()]
        an_epoch = len(list(updates_of(rows, 1)))
        epochs = -(-steps // an_epoch)
        updates = list(updates_of(rows, epochs))
        train(temper, config, f"cold_start.data={data}", f"cold_start.epochs={epochs}", f"model.path={folder}",
              f"run.dir={work / 'run'}", f"cold_start.optimizer.lr={LR}")
        lines = [json.loads(line) for line in (work / "run/metrics.jsonl").read_text().splitlines()]
        lines = [line for line in lines if "cold_start/loss" in line]
        ours = [line["cold_start/loss"] for line in lines]
        tokens = [line["cold_start/tokens"] for line in lines]
        plain, exact = (torch_losses(folder, updates, dtype) for dtype in (torch.float32, torch.float64))
    assert len(ours) == len(updates), f"{len(ours)} updates, should be {len(updates)}"
    assert tokens[-1] == sum(len(ids) for update in updates for ids, _ in update), "the rows are others"
    distance = lambda a, b: max(abs(x - y) for x, y in zip(a, b))
    found, own = distance(ours, exact), distance(plain, exact)
    for k in sorted({0, 1, len(ours) // 4, len(ours) // 2, len(ours) - 1}):
        print(f"update {k + 1:>4}: temper {ours[k]:.7f}  torch f32 {plain[k]:.7f}  torch f64 {exact[k]:.7f}")
    print(f"{len(ours)} updates, {tokens[-1]:.0f} tokens: largest difference of the loss: temper from torch f32 "
          f"{distance(ours, plain):.1e}, temper from torch f64 {found:.1e}, torch f32 from torch f64 {own:.1e}")
    if found > TIMES * own + ROUNDING or not ours[-1] < 0.7 * ours[0]:
        print(f"more than {TIMES:g} times torch's own rounding + {ROUNDING:g}, or nothing was learned")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
