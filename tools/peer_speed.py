#!/usr/bin/env python3
"""Temper beside transformers + torch eager: the same small Qwen3, the same CPU, one run.

Prints training tokens/s (forward, backward, AdamW) and generation tokens/s, ours and theirs in alternation, and the ratios
of the medians with their spread. Needs tools/bootstrap --oracles and a build.

    .deps/venv/bin/python tools/peer_speed.py --rounds 3
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def ours(what, args, extra=()):
    command = [ROOT / "build/temper", "bench", what, "--json", "--config", args.config, "--batch", str(args.batch),
               "--length", str(args.length), "--seconds", str(args.seconds), *extra, f"run.threads={args.threads}"]
    out = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])["tokens_per_s"]


def resolved_shape(args):
    out = subprocess.run([str(ROOT / "build/temper"), "train", args.config, "--dry-run"], check=True, capture_output=True,
                         text=True).stdout
    import re
    wanted = ("vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim "
              "rope_theta max_position_embeddings").split()
    shape = {key: float(re.search(rf"^\s*{key}: (\S+)$", out, re.M).group(1)) for key in wanted}
    shape = {key: int(value) for key, value in shape.items()}
    shape["tie_word_embeddings"] = re.search(r"tie_word_embeddings: (\w+)", out).group(1) == "true"
    return shape


def make_peer(shape, torch, transformers):
    shape = dict(shape)
    rope = {"rope_theta": shape.pop("rope_theta"), "rope_type": "default"}
    config = transformers.Qwen3Config(**shape, rope_parameters=rope, attn_implementation="sdpa", eos_token_id=None,
                                      bos_token_id=None, pad_token_id=None)
    torch.manual_seed(0)
    return transformers.Qwen3ForCausalLM(config).float()


def peer_train(model, args, torch):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, model.config.vocab_size, (args.batch, args.length))
    model.train()

    def update():
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    update()
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < args.seconds:
        update()
        done += ids.numel()
    return done / (time.perf_counter() - start)


def peer_generate(model, args, torch):
    ids = torch.randint(0, model.config.vocab_size, (args.batch, args.prompt))
    mask = torch.ones_like(ids)
    model.eval()

    def generate(tokens):
        return model.generate(ids, attention_mask=mask, do_sample=True, top_k=0, max_new_tokens=tokens, min_new_tokens=tokens,
                              pad_token_id=0)

    generate(8)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < args.seconds:
        done += generate(args.length)[:, args.prompt:].numel()
    return done / (time.perf_counter() - start)


def report(name, rows):
    mine, theirs = zip(*rows)
    ratios = [a / b for a, b in rows]
    print(f"{name:<24} temper {statistics.median(mine):>9.0f} tokens/s   transformers {statistics.median(theirs):>9.0f}"
          f"   ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(rows)} rounds)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", default="configs/quickstart.yaml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    args = parser.parse_args()
    os.chdir(ROOT)
    import torch
    import transformers
    torch.set_num_threads(args.threads)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, {args.threads} threads")
    model = make_peer(resolved_shape(args), torch, transformers)

    args.batch, args.length = 32, 192
    report("training, 32 x 192", [(ours("train", args), peer_train(model, args, torch)) for _ in range(args.rounds)])
    args.batch, args.length, args.prompt = 64, 128, 64
    report("generation, batch 64", [(ours("decode", args, ["--prompt", str(args.prompt)]), peer_generate(model, args, torch))
                                    for _ in range(args.rounds)])


if __name__ == "__main__":
    main()
