"""Attacks by the weights' numbers, and by files of other sizes than they claim or had."""

import os
import signal
import struct
from pathlib import Path

from patience import comes_true

from .case import case
from .good_files import CONFIG, good_weights, header_of, numbers, safetensors, shapes


# Stops the process before it reads the weights for the first time, when it knows how large their file is.
STOPS_ITSELF = r"""
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
ssize_t pread(int file, void* to, size_t size, off_t at) {
  static int stopped = 0;
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  (void)!readlink(link, path, sizeof path - 1);
  if (strstr(path, "/model.safetensors") && !stopped++) raise(SIGSTOP);
  return ((__typeof__(&pread))dlsym(RTLD_NEXT, "pread"))(file, to, size, at);
}
"""


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def cut_short(pid, folder):
    """While the file is read."""
    comes_true(lambda: state_of(pid) in "TZ")  # stopped, or ended
    if state_of(pid) == "T":
        os.truncate(folder.path / "model.safetensors", 4096)
        os.kill(pid, signal.SIGCONT)


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
    @case("weights: cut short while they are read", "became shorter|header of", code=(2, 3), seconds=3, preloaded=STOPS_ITSELF,
          during=cut_short)
    def _(folder):
        config = CONFIG | {"vocab_size": 1 << 21}
        folder.write("config.json", config)
        header, size = header_of(shapes(config))
        with open(folder.path / "model.safetensors", "wb") as file:
            file.write(safetensors(header, b""))
            for _ in range(size // (1 << 20)):
                file.write(bytes(1 << 20))
            file.write(bytes(size % (1 << 20)))
