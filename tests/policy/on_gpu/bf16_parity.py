#!/usr/bin/env python3
"""Each family in bf16 on a GPU: the error of Temper beside that of transformers, both against transformers in f32 with
the same weights.

usage: bf16_parity.py POLICY_DUMP
exit 1: an error is larger than transformers' own; 77: no GPU, or transformers is not installed
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as error:
    print(f"skipped: {error}; tools/bootstrap installs it")
    sys.exit(77)

ALLOWED = 1.0
TEMPERATURE = 1.0
VOCABULARY = 1000
LENGTHS = [700, 513, 300, 129, 128, 64, 33, 2]
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 256}

# Class of config, heads, key heads, tied, theta, more of the config.
CASES = {
    "qwen3": (transformers.Qwen3Config, 8, 2, True, 1e6, {}),
    "qwen3 5": (transformers.Qwen3Config, 10, 2, False, 1e6, {}),
    "qwen2": (transformers.Qwen2Config, 14, 2, False, 1e6, {}),
    "llama 2": (transformers.LlamaConfig, 4, 4, False, 1e4, {"attention_bias": True, "mlp_bias": True}),
    "llama 3": (transformers.LlamaConfig, 8, 2, False, 5e5, {"rope_parameters": LLAMA3}),
    "codellama": (transformers.LlamaConfig, 4, 4, False, 1e6,
                  {"rope_parameters": {"rope_type": "linear", "factor": 4.0}}),
    "mistral": (transformers.MistralConfig, 8, 1, False, 1e6, {"sliding_window": None}),
}


def random_model(seed, make_config, heads, kv_heads, tied, theta, more):
    torch.manual_seed(seed)
    # Qwen2's configs know no head_dim but hidden_size / heads.
    width = 128 * heads
    more = dict(more, rope_parameters=dict(more.get("rope_parameters", {"rope_type": "default"}), rope_theta=theta))
    if make_config is not transformers.Qwen2Config:
        more["head_dim"] = 128
    config = make_config(vocab_size=VOCABULARY, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=4,
                         num_attention_heads=heads, num_key_value_heads=kv_heads, tie_word_embeddings=tied,
                         max_position_embeddings=1024, **more)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale, mean = (0.2, 1.0) if "norm" in name else (0.3, 0.0) if "bias" in name else (1.0 / width**0.5, 0.0)
            parameter.normal_(mean, scale)
    return model


def loaded(folder, dtype):
    # Not model.to(dtype), which would round the rotary frequencies too.
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).cuda()


def computed(model, sequences):
    """Log-probs of all tokens but the first ones, logits behind each sequence, gradients of the sum of log-probs."""
    model.zero_grad(set_to_none=True)
    log_probs, last = [], []
    for ids in sequences:
        logits = model(ids[None]).logits[0].float()
        last.append(logits[-1].detach())
        log_p = torch.log_softmax(logits[:-1] / TEMPERATURE, -1).gather(1, ids[1:, None])[:, 0]
        log_p.sum().backward()
        log_probs.append(log_p.detach())
    gradients = {name: p.grad.float() for name, p in model.named_parameters()}
    return {"logits": torch.stack(last), "log_prob": torch.cat(log_probs), **gradients}


def dumped(program, folder, sequences):
    ids = torch.cat(sequences).int().cpu()
    scored = torch.cat([torch.arange(len(s)) > 0 for s in sequences]).byte()
    starts = torch.tensor([0] + [len(s) for s in sequences]).cumsum(0).int()
    save_file({"ids": ids, "starts": starts, "scored": scored,
               "temperature": torch.tensor([TEMPERATURE], dtype=torch.float64),
               "tokens": torch.tensor([VOCABULARY], dtype=torch.int32)}, folder / "in")
    subprocess.run([program, folder / "model", folder / "in", folder / "out", folder / "export", "gpu"], check=True,
                   timeout=600)
    mine = {name: tensor.cuda() for name, tensor in load_file(folder / "out").items()}
    found = {name.removeprefix("grad."): tensor for name, tensor in mine.items() if name.startswith("grad.")}
    kept = scored.bool().cuda()
    return {"logits": mine["last_logits"], "log_prob": mine["log_prob"][kept].float(),
            "cache": mine["cached_log_prob"][kept].float(), **found}


def error(found, truth):
    return ((found - truth).norm() / truth.norm()).item()


def all_gradients(errors):
    """The mean over parameters: none of them is lost beside a larger one."""
    of_weights = [value for name, value in errors.items() if "." in name]
    return sum(of_weights) / len(of_weights)


def compare(program, folder, seed, name, case):
    random_model(seed, *case).to(torch.bfloat16).save_pretrained(folder / "model")
    sequences = [torch.randint(0, VOCABULARY, (n,), device="cuda") for n in LENGTHS]
    truth, theirs = (computed(loaded(folder / "model", dtype), sequences) for dtype in (torch.float32, torch.bfloat16))
    ours = dumped(program, folder, sequences)
    truth["cache"], theirs["cache"] = truth["log_prob"], theirs["log_prob"]
    mine, other = ({key: error(found[key], truth[key]) for key in truth} for found in (ours, theirs))
    mine["gradients"], other["gradients"] = all_gradients(mine), all_gradients(other)
    failures = []
    for what in ("logits", "log_prob", "cache", "gradients"):
        bad = not mine[what] <= ALLOWED * other[what]
        print(f"{name:<11}{what:<11}{mine[what]:>10.2e}{other[what]:>14.2e}{mine[what] / other[what]:>8.2f}"
              + (" too large" if bad else ""), flush=True)
        failures += [f"{name}: {what}"] if bad else []
    return failures


def main():
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        return 77
    torch.backends.cuda.matmul.allow_tf32 = False
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"{'family':<11}{'what':<11}{'temper':>10}{'transformers':>14}{'ratio':>8}")
    failures = []
    for seed, (name, case) in enumerate(CASES.items()):
        with tempfile.TemporaryDirectory() as folder:
            failures += compare(sys.argv[1], pathlib.Path(folder), seed, name, case)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
