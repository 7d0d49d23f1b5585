#!/usr/bin/env python3
"""Logits, log-probs, entropies and gradients beside transformers' Qwen3, f32, on random configs and packed sequences.

usage: reference.py POLICY_DUMP        exit 77: transformers is not installed (ctest counts that as skipped)
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

LOGITS_TOLERANCE = 1e-4  # absolute
GRADIENT_TOLERANCE = 1e-3  # of the parameter's largest gradient, and of its norm

CONFIGS = [  # vocab, width, feed-forward, layers, heads, key heads, head dim, tied, rope theta
    (64, 32, 48, 2, 4, 2, 16, True, 1e4),  # H·hd = 2·D
    (97, 40, 72, 3, 6, 3, 8, False, 1e6),
    (300, 64, 96, 1, 4, 4, 16, True, 1e4),
    (1024, 128, 384, 4, 4, 2, 32, True, 1e4),
    (151, 48, 80, 2, 8, 1, 10, False, 5e5),  # one key head
]


def random_model(seed, vocab, width, inner, layers, heads, kv_heads, head_dim, tied, theta):
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=vocab, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=head_dim, tie_word_embeddings=tied,
        rope_parameters={"rope_type": "default", "rope_theta": theta}, max_position_embeddings=512,
        attn_implementation="eager")
    model = transformers.Qwen3ForCausalLM(config).float()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale, mean = (0.2, 1.0) if "norm" in name else (1.5 / width**0.5, 0.0)
            parameter.copy_(mean + scale * torch.randn_like(parameter))
    return model


def expected_scores(model, sequences, scored, temperature):
    """Sequence by sequence; leaves the gradients of the summed log-probs in the parameters."""
    log_probs, entropies, last = [], [], []
    for ids, mask in zip(sequences, scored):
        logits = model(ids[None]).logits[0]
        last.append(logits[-1].detach())
        log_p = torch.log_softmax(logits[:-1] / temperature, -1)
        chosen = log_p.gather(1, ids[1:, None])[:, 0] * mask[1:]
        chosen.sum().backward()
        zero = torch.zeros(1)
        log_probs.append(torch.cat([zero, chosen.detach()]))
        entropies.append(torch.cat([zero, (-(log_p.exp() * log_p).sum(-1) * mask[1:]).detach()]))
    return torch.cat(log_probs), torch.cat(entropies), torch.stack(last)


def compare(program, folder, seed, shape):
    model = random_model(seed, *shape)
    model.save_pretrained(folder)
    lengths = [1 + int(n) for n in torch.randint(1, 90, (5,))] + [2]
    sequences = [torch.randint(0, shape[0], (n,)) for n in lengths]
    scored = [torch.cat([torch.zeros(1), (torch.rand(n - 1) < 0.7).float()]) for n in lengths]
    temperature = 0.8
    starts = torch.tensor([0] + lengths).cumsum(0)
    save_file({"ids": torch.cat(sequences).int(), "starts": starts.int(), "scored": torch.cat(scored).byte(),
               "temperature": torch.tensor([temperature], dtype=torch.float64)}, folder / "in")
    subprocess.run([program, folder, folder / "in", folder / "out"], check=True, timeout=100)
    mine = load_file(folder / "out")
    log_prob, entropy, last = expected_scores(model, sequences, scored, temperature)
    errors = {"logits": (mine["last_logits"] - last).abs().max().item(),
              "log_prob": (mine["log_prob"] - log_prob).abs().max().item(),
              "entropy": (mine["entropy"] - entropy).abs().max().item()}
    failures = [f"{name} off by {error:.2e}" for name, error in errors.items() if not error <= LOGITS_TOLERANCE]
    worst = 0.0
    for name, parameter in model.named_parameters():
        expected, found = parameter.grad, mine.pop("grad." + name)
        error = max(((found - expected).abs().max() / expected.abs().max()).item(),
                    ((found - expected).norm() / expected.norm()).item())
        worst = max(worst, error)
        if not error <= GRADIENT_TOLERANCE:
            failures.append(f"gradient of {name} off by {error:.2e}")
    failures += [f"{name} is not in transformers' model" for name in mine if name.startswith("grad.")]
    print(f"{shape}: " + ", ".join(f"{k} {v:.1e}" for k, v in errors.items()) + f", gradients {worst:.1e}")
    return failures


def main():
    torch.set_num_threads(1)
    failures = []
    for seed, shape in enumerate(CONFIGS):
        with tempfile.TemporaryDirectory() as folder:
            failures += compare(sys.argv[1], pathlib.Path(folder), seed, shape)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
