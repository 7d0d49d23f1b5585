"""Attacks by the weights' numbers, and by files of other sizes than they claim or had."""

import os
import signal
import struct
import time

from .case import case
from .good_files import CONFIG, good_weights, header_of, numbers, safetensors, shapes


def cut_short(pid, folder):
    """While the file is read: the process is stopped as soon as it has opened it."""
    target = str(folder.path / "model.safetensors")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            opened = []
            if not os.path.exists(f"/proc/{pid}"):
                return
        if target in opened:
            os.kill(pid, signal.SIGSTOP)
            os.truncate(target, 4096)
            os.kill(pid, signal.SIGCONT)
            return
        time.sleep(0.0002)


def number_cases():
    header, data = good_weights()
    for name, value in {"a NaN": float("nan"), "infinity": float("inf")}.items():
        case(f"weights: {name}", "WARNING: 1 of the weights' numbers are not finite", code=0)(
            lambda folder, value=value: folder.weights(header, data[:-4] + struct.pack("<f", value)))
    case("weights: all infinite", "of the weights' numbers are not finite", code=0)(
        lambda folder: folder.weights(header, numbers(len(data) // 4, float("inf"))))


def size_cases():
    """What claims to be large costs nothing before it was compared."""

    @case("weights: 20 GB without content, for 6 billion parameters", "cannot hold|not JSON|header|missing")
    def _(folder):
        folder.config(hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
                      num_key_value_heads=32, head_dim=128, vocab_size=32000, tie_word_embeddings=False)
        with open(folder.path / "model.safetensors", "wb") as file:
            file.truncate(20 << 30)

    @case("weights: 1 TiB without content, for a config that fits", "not JSON|header|missing")
    def _(folder):
        folder.config(hidden_size=16384, intermediate_size=65536, num_hidden_layers=100, num_attention_heads=128,
                      num_key_value_heads=128, head_dim=128, tie_word_embeddings=False)
        with open(folder.path / "model.safetensors", "wb") as file:
            file.truncate(1 << 40)

    @case("weights: a config of 10^14 parameters", "cannot hold the")
    def _(folder):
        folder.config(hidden_size=65536, intermediate_size=262144, num_hidden_layers=1024, vocab_size=1 << 24)


def cut_short_case():
    @case("weights: cut short while they are read", "became shorter|header of", code=(2, 3), during=cut_short, seconds=3)
    def _(folder):
        config = CONFIG | {"vocab_size": 1 << 21}
        folder.write("config.json", config)
        header, size = header_of(shapes(config))
        with open(folder.path / "model.safetensors", "wb") as file:
            file.write(safetensors(header, b""))
            for _ in range(size // (1 << 20)):
                file.write(bytes(1 << 20))
            file.write(bytes(size % (1 << 20)))
