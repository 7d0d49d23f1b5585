#!/usr/bin/env python3
"""A model of a published shape with random weights through everything on one GPU: fine-tuning on conversations that the
grammar writes, sampling, fine-tuning on what passed, three steps of reinforcement learning on CUDA tasks, export, and the
same log-probs in transformers. Prints the seconds of each.

usage: end_to_end_gpu.py TEMPER TOKENIZER_FOLDER WORK_FOLDER [LAYERS]
"""
import json
import pathlib
import shutil
import subprocess
import sys
import time

import torch
import transformers

BASE = ["configs/quickstart_cuda.yaml", "model.chat_format=qwen3_no_thinking", "model.device=cuda", "eval.before=false",
        "eval.samples=1", "rollout.max_sequences=64", "learner.micro_batch_tokens=8192", "cold_start.micro_batch_tokens=8192",
        "cold_start.optimizer.lr=3e-4", "cold_start.checkpoint_every=0", "checkpoint.keep=1", "checkpoint.every=100"]
SHOWN = ("policy:", "device:", "cold start", "step ", "conversations", "exactness", "log-probs", "refus", "error", "eval")


def stage(name, function):
    begin = time.time()
    result = function()
    print(f"{time.time() - begin:7.1f} s  {name}", flush=True)
    return result


def temper(*words, keep=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=400)
    said = done.stdout + done.stderr
    for line in said.splitlines():
        if keep and any(word in line for word in SHOWN):
            print("           ", line[:150])
    if done.returncode not in (0, 1):
        print(said[-3000:])
        sys.exit(f"{words[1]} ended with {done.returncode}")
    return done


def make_folder(folder, tokenizer, layers):
    """Qwen3-1.7B's config and random weights, in two files."""
    config = transformers.Qwen3Config(vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=layers,
                                      num_attention_heads=16, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True,
                                      rope_theta=1e6, max_position_embeddings=40960, dtype="bfloat16")
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder, max_shard_size="2GB")
    for file in pathlib.Path(tokenizer).iterdir():
        shutil.copy(file, folder)
    return sum(p.numel() for p in model.parameters()), sorted(p.name for p in folder.glob("*.safetensors"))


def compare(program, folder, line):
    """Temper's log-probs of a conversation beside transformers', in bf16 and in f32."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(json.loads(line)["messages"][-1]["content"])["input_ids"][:200]
    words = [program, "logprobs", "--model", folder, "--device", "cuda"]
    done = subprocess.run([str(word) for word in words], input=json.dumps({"ids": [ids]}), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    mine = torch.tensor([x for x in json.loads(done.stdout)["log_probs"][0] if x is not None])
    found = {}
    for dtype in (torch.bfloat16, torch.float32):
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).cuda()
        with torch.no_grad():
            logits = model(torch.tensor([ids]).cuda()).logits[0].float()
        found[dtype] = torch.log_softmax(logits[:-1], -1).cpu().gather(1, torch.tensor(ids[1:])[:, None])[:, 0]
        del model
    truth = found[torch.float32]
    return (mine - truth).abs().mean().item(), (found[torch.bfloat16] - truth).abs().mean().item(), len(mine)


def main(program, tokenizer, work, layers=28):
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    base = work / "base"
    parameters, files = stage("random weights written by transformers", lambda: make_folder(base, tokenizer, int(layers)))
    print(f"            {parameters / 1e9:.2f} B parameters in {', '.join(files)}")
    grammar, good = work / "grammar.jsonl", work / "good.jsonl"
    stage("the grammar's conversations, judged", lambda: temper(
        program, "collect", *BASE, "--traces", "--out", grammar, "traces.conversations=150", "traces.generated=40",
        "traces.unjudged=12000"))
    run = work / "first"
    stage("fine-tuning on them", lambda: temper(
        program, "train", *BASE, f"model.path={base}", f"run.dir={run}", f"cold_start.data={grammar}", "cold_start.epochs=2",
        "cold_start.max_seconds=85", "run.steps=0", "eval.turns=1"))
    print("            loss", [round(json.loads(line)["cold_start/loss"], 3) for line in
                              (run / "metrics.jsonl").read_text().splitlines() if "cold_start/loss" in line][::40])
    tuned = work / "tuned"
    stage("export", lambda: temper(program, "export", run / "checkpoints/cold_start", tuned))
    shutil.rmtree(run)
    stage("collect: sampled, judged, kept", lambda: temper(
        program, "collect", *BASE, f"model.path={tuned}", "--out", good, "--samples", "1", "rollout.temperature=0.3"))
    data = good if good.exists() else grammar
    run = work / "second"
    stage("fine-tuning on what passed, three steps", lambda: temper(
        program, "train", *BASE, f"model.path={tuned}", f"run.dir={run}", f"cold_start.data={data}", "cold_start.max_seconds=15",
        "cold_start.optimizer.lr=2e-5", "optimizer.lr=1e-6", "run.steps=3", "rollout.tasks_per_step=8", "rollout.turns=3",
        "rollout.max_context_tokens=1100", "rollout.context.rule=summaries", "eval.turns=1"))
    for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()):
        if "rollout_corr/kl" in line:
            print("           ", {k: v for k, v in line.items() if "rollout_corr" in k or k in ("critic/rewards/mean", "actor/grad_norm")})
    out = work / "out"
    stage("export", lambda: temper(program, "export", run / "checkpoints/final", out))
    mine, theirs, count = stage("the same in transformers", lambda: compare(program, out, grammar.read_text().splitlines()[-1]))
    print(f"            mean |log-prob − transformers f32| over {count} tokens: Temper bf16 {mine:.5f}, transformers bf16 {theirs:.5f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
