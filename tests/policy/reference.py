#!/usr/bin/env python3
"""Each family beside transformers, f32, on random configs, packed sequences and stored dtypes: logits, log-probs, entropies,
gradients, log-probs through the cache of keys and values, and the logits of what Temper exports as transformers loads it.

usage: reference.py POLICY_DUMP        exit 77: transformers is not installed (ctest counts that as skipped)
"""
import copy
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

LOGITS_TOLERANCE = 1e-4  # absolute; log-probs and entropies too
GRADIENT_TOLERANCE = 1e-3  # of the parameter's largest gradient, and of its norm
TEMPERATURE = 0.8


def linear(factor):
    return {"rope_type": "linear", "factor": factor}


def llama3(factor, original):
    return {"rope_type": "llama3", "factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": original}


# vocab, tokens, width, feed-forward, layers, heads, key heads, head dim, tied, theta, stored as, more of the config. A
# vocabulary of more rows than tokens ends in rows that have none.
CASES = {
    "qwen3": [(400, 400, 32, 48, 2, 4, 4, 16, True, 1e4, "f32", {}),
              (448, 410, 40, 72, 3, 10, 2, 8, False, 1e6, "bf16", {}),
              (400, 400, 48, 80, 2, 8, 1, 10, False, 5e5, "f16", {"attention_bias": True})],
    "qwen2": [(448, 420, 56, 72, 2, 14, 2, None, True, 1e6, "bf16", {}),
              (400, 400, 40, 64, 2, 5, 1, None, False, 1e4, "f32", {}),
              (400, 400, 32, 48, 3, 4, 1, None, False, 1e4, "f16",
               {"use_sliding_window": True, "sliding_window": 19, "max_window_layers": 1})],
    "llama 2": [(400, 400, 64, 96, 2, 4, 4, None, False, 1e4, "f16", {}),
                (448, 431, 48, 64, 2, 8, 8, None, True, 1e4, "f32", {"attention_bias": True}),
                (400, 400, 40, 56, 2, 4, 1, 12, False, 1e4, "bf16", {"mlp_bias": True})],
    "llama 3": [(448, 448, 64, 112, 2, 8, 2, None, True, 5e5, "bf16", {"rope_parameters": llama3(8.0, 32)}),
                (400, 391, 70, 96, 2, 5, 1, None, False, 5e5, "f32", {"rope_parameters": llama3(32.0, 64)}),
                (400, 400, 64, 80, 3, 16, 2, 24, True, 1e4, "f16",
                 {"rope_parameters": llama3(4.0, 16), "attention_bias": True, "mlp_bias": True})],
    "codellama": [(400, 400, 48, 64, 2, 4, 4, None, False, 1e6, "bf16", {"rope_parameters": linear(4.0)}),
                  (448, 448, 56, 80, 2, 7, 1, None, True, 1e6, "f16", {"rope_parameters": linear(2.5)}),
                  (400, 380, 64, 96, 3, 8, 2, None, False, 1e6, "f32", {"rope_parameters": linear(16.0)})],
    "mistral": [(400, 400, 64, 96, 2, 4, 1, None, False, 1e4, "bf16", {"sliding_window": 16}),
                (448, 440, 48, 80, 3, 8, 1, 12, True, 1e6, "f32", {"sliding_window": 7}),
                (400, 400, 56, 72, 2, 7, 7, None, False, 1e4, "f16", {"sliding_window": 50})],
}
CLASSES = {"qwen3": transformers.Qwen3Config, "qwen2": transformers.Qwen2Config, "llama": transformers.LlamaConfig,
           "codellama": transformers.LlamaConfig, "mistral": transformers.MistralConfig}
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def random_model(seed, family, vocab, width, inner, layers, heads, kv_heads, head_dim, tied, theta, stored, more):
    torch.manual_seed(seed)
    rope = dict(more.get("rope_parameters", {"rope_type": "default"}), rope_theta=theta)
    shape = dict(more, rope_parameters=rope, **({"head_dim": head_dim} if head_dim else {}))
    config = CLASSES[family.split()[0]](
        vocab_size=vocab, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, tie_word_embeddings=tied,
        max_position_embeddings=512, attn_implementation="eager", **shape)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale, mean = (0.2, 1.0) if "norm" in name else (0.3, 0.0) if "bias" in name else (1.5 / width**0.5, 0.0)
            parameter.copy_((mean + scale * torch.randn_like(parameter)).to(DTYPES[stored]))
    return model


def expected_scores(model, sequences, scored, tokens):
    """Sequence by sequence; leaves the gradients of the summed log-probs in the parameters."""
    log_probs, entropies, last = [], [], []
    for ids, mask in zip(sequences, scored):
        logits = model(ids[None]).logits[0, :, :tokens]
        last.append(logits[-1].detach())
        log_p = torch.log_softmax(logits[:-1] / TEMPERATURE, -1)
        chosen = log_p.gather(1, ids[1:, None])[:, 0]
        (chosen * mask[1:]).sum().backward()
        zero = torch.zeros(1)
        log_probs.append(torch.cat([zero, chosen.detach()]))
        entropies.append(torch.cat([zero, (-(log_p.exp() * log_p).sum(-1) * mask[1:]).detach()]))
    return torch.cat(log_probs), torch.cat(entropies), torch.stack(last)


def largest(found, expected):
    return (found - expected).abs().max().item()


def gradient_errors(model, mine):
    errors = {}
    for name, parameter in model.named_parameters():
        expected, found = parameter.grad, mine.pop("grad." + name)
        scale = expected.abs().max()
        errors[name] = max((largest(found, expected) / scale).item(),
                           ((found - expected).norm() / expected.norm()).item())
    return errors, [name for name in mine if name.startswith("grad.")]


@torch.no_grad()
def export_error(model, folder, sequences):
    again = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return max(largest(again(ids[None]).logits, model(ids[None]).logits) for ids in sequences)


def compare(program, folder, seed, family, vocab, tokens, *shape):
    model = random_model(seed, family, vocab, *shape)
    stored = shape[-2]
    copy.deepcopy(model).to(DTYPES[stored]).save_pretrained(folder / "model", max_shard_size="30KB" if seed % 2 else "1GB")
    shards = len(list((folder / "model").glob("*.safetensors")))
    lengths = [1 + int(n) for n in torch.randint(1, 130, (4,))] + [2]
    sequences = [torch.randint(0, tokens, (n,)) for n in lengths]
    scored = [torch.cat([torch.zeros(1), (torch.rand(n - 1) < 0.7).float()]) for n in lengths]
    starts = torch.tensor([0] + lengths).cumsum(0)
    save_file({"ids": torch.cat(sequences).int(), "starts": starts.int(), "scored": torch.cat(scored).byte(),
               "temperature": torch.tensor([TEMPERATURE], dtype=torch.float64),
               "tokens": torch.tensor([tokens], dtype=torch.int32)}, folder / "in")
    subprocess.run([program, folder / "model", folder / "in", folder / "out", folder / "export"], check=True,
                   timeout=600)
    mine = load_file(folder / "out")
    log_prob, entropy, last = expected_scores(model, sequences, scored, tokens)
    errors = {"logits": largest(mine["last_logits"][:, :tokens], last),
              "log_prob": largest(mine["log_prob"], log_prob * torch.cat(scored)),
              "entropy": largest(mine["entropy"], entropy),
              "cache": largest(mine["cached_log_prob"], log_prob),
              "export": export_error(model, folder / "export", sequences)}
    failures = [f"{name} off by {error:.2e}" for name, error in errors.items() if not error <= LOGITS_TOLERANCE]
    gradients, unknown = gradient_errors(model, mine)
    failures += [f"gradient of {name} off by {error:.2e}" for name, error in gradients.items()
                 if not error <= GRADIENT_TOLERANCE]
    failures += [f"{name} is not in transformers' model" for name in unknown]
    _, _, _, heads, kv_heads, _, tied, *_ = shape
    print(f"{family:<10}{heads // kv_heads:>4} {'tied' if tied else 'untied':<7}{stored:<5}{shards:>6}{vocab - tokens:>7}"
          + "".join(f"{errors[name]:>10.1e}" for name in errors) + f"{max(gradients.values()):>11.1e}", flush=True)
    return [f"{family}, seed {seed}: {failure}" for failure in failures]


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"{'family':<10}{'GQA':>4} {'head':<7}{'dtype':<5}{'files':>6}{'masked':>7}" + "".join(
        f"{name:>10}" for name in ("logits", "log_prob", "entropy", "cache", "export")) + f"{'gradients':>11}")
    failures, seed = [], 0
    for family, cases in CASES.items():
        for case in cases:
            with tempfile.TemporaryDirectory() as folder:
                failures += compare(sys.argv[1], pathlib.Path(folder), seed, family, *case)
            seed += 1
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
