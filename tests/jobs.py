"""Jobs for tests: the built programs, started alone or on several ranks of this machine.

BUILD and WORK, the folder of the programs and one for what they write, are set by run_tests or by whoever starts jobs otherwise.
"""

import functools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import patience
from patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path()
WORK = Path()

# The whole job in a second: two tasks to learn from, one held out.
TINY = """
run: {seed: 3, steps: 2, overwrite: true}
model: {device: cpu, vocab_size: 512, hidden_size: 32, intermediate_size: 64, num_hidden_layers: 2,
        num_attention_heads: 2, num_key_value_heads: 1, head_dim: 16, max_position_embeddings: 1024}
tasks: {names: [scale_rows_relu, scale_columns_relu, scale_shift_relu]}
env: {min_pairs: 5, max_pairs: 5}
traces: {conversations: 24, generated: 0}
cold_start: {epochs: 1, batch_tokens: 2048}
rollout: {tasks_per_step: 2, samples_per_task: 2, turns: 2, max_response_tokens: 48, max_context_tokens: 1024}
eval: {samples: 2}
"""
MPIRUN = ["mpirun", "--allow-run-as-root", "--bind-to", "none", "--oversubscribe", "-q"]


def have_mpi():
    return shutil.which("mpirun") is not None and (BUILD / "libtemper-mpi.so").exists()


CLAIMS = []  # of ports, sockets with names: a name has one owner on the machine, and is free when this process ends


def free_port():
    """Below those that the system gives to whoever connects, and for these tests alone: those beside them claim others."""
    while True:
        port = random.randrange(20000, 32000)
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0temper-test-port-{port}")
        except OSError:
            claim.close()
            continue
        CLAIMS.append(claim.detach())
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def plain_environment(**more):
    """Without what a launcher around this test may have set."""
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
    kept = {k: v for k, v in os.environ.items()
            if k not in names and not k.startswith(("OMPI_", "PMIX_", "SLURM_", "TEMPER_", "TORCHELASTIC_"))}
    kept |= {"OMP_NUM_THREADS": "1", "TEMPER_RANKS_TEST": str(os.getpid()), "TEMPER_SECRET": "of these tests"}
    return kept | {k: str(v) for k, v in more.items()}


def torchrun_environment(rank, size, port, host="127.0.0.1"):
    return plain_environment(RANK=rank, WORLD_SIZE=size, LOCAL_RANK=rank, MASTER_ADDR=host, MASTER_PORT=port)


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def first_step(directory):
    """What was sampled, and the step's figures."""
    shown = subprocess.run([BUILD / "temper", "show", directory, "1", "--json"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    step = next(row for row in json_lines(directory / "metrics.jsonl") if "actor/pg_loss" in row)
    return [(r["task"], r["sample"], r["segments"]) for r in rows], step


class Ended:
    """What ranks left behind: output together, exit codes by rank."""

    def __init__(self, text, codes):
        self.text, self.codes = text, codes


def patient():
    return patience.patience(BUILD / "temper")


def run_mpi(count, *command, **environment):
    done = subprocess.run([*MPIRUN, "-np", str(count), *map(str, command)], capture_output=True, text=True,
                          errors="replace", timeout=PATIENCE_S * patient(), env=plain_environment(**environment), cwd=ROOT)
    return Ended(done.stdout + done.stderr, [done.returncode])


def start_by_hand(count, command_of, of_rank=lambda rank: {}, directory_of=lambda rank: ROOT):
    """As torchrun does, without it."""
    port = free_port()
    return [subprocess.Popen([*map(str, command_of(rank))], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", env=torchrun_environment(rank, count, port) | of_rank(rank),
                             cwd=directory_of(rank))
            for rank in range(count)]


def temper_words(*words, program=None, command="train"):
    config = WORK / "tiny.yaml"
    config.write_text(TINY)
    return [program or BUILD / "temper", command, config, *words]


def start_temper(count, *words, of_rank=lambda rank: {}, words_of=lambda rank: (), program_of=lambda rank: None,
                 directory_of=lambda rank: ROOT, command="train"):
    if not any(str(word).startswith("run.dir=") for word in words):
        words = (f"run.dir={WORK / 'run'}", *words)
    return start_by_hand(count, lambda rank: temper_words(*words, *words_of(rank), program=program_of(rank),
                                                          command=command), of_rank, directory_of)


def train_alone(*words):
    directory = Path(tempfile.mkdtemp(dir=WORK)) / "run"
    done = subprocess.run([*map(str, temper_words(f"run.dir={directory}", *words))], capture_output=True, text=True,
                          env=plain_environment(), cwd=ROOT)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return directory


@functools.cache
def model():
    return train_alone("run.steps=0", "eval.before=false") / "checkpoints/cold_start"


# Half of this policy's answers are right.
TAUGHT = ["rollout.max_response_tokens=160", "model.hidden_size=48", "model.head_dim=24", "traces.conversations=60",
          "env.lanes=1", "eval.before=false", "eval.samples=1"]


@functools.cache
def taught():
    return train_alone(*TAUGHT, "run.steps=0", "cold_start.epochs=40") / "checkpoints/cold_start"


def wait_all(processes, timeout=PATIENCE_S):
    texts = [p.communicate(timeout=timeout * patient())[0] for p in processes]
    return Ended("".join(texts), [p.returncode for p in processes])


def listening(pid):
    """(address, port) of IPv4 and IPv6 sockets on which a process listens."""
    try:
        own = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        tables = [(Path(f"/proc/{pid}/net/{name}").read_text(), family)
                  for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6))]
    except OSError:  # it has ended
        return set()
    found = set()
    for table, family in tables:
        for line in table.splitlines()[1:]:
            words = line.split()
            address, port = words[1].split(":")
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                words32 = [bytes.fromhex(address[i:i + 8])[::-1] for i in range(0, len(address), 8)]
                found.add((socket.inet_ntop(family, b"".join(words32)), int(port, 16)))
    return found


class Ranks(unittest.TestCase):
    def expect_ok(self, ended, count):
        self.assertTrue(all(code == 0 for code in ended.codes), ended.text)
        lines = sorted(line for line in ended.text.splitlines() if line.startswith("ok "))
        self.assertEqual(lines, [f"ok {rank} {count} {rank} {count}" for rank in range(count)], ended.text)


def run_tests(name):
    """Those of the program that runs, on the build that its command line names."""
    global BUILD, WORK
    BUILD = Path(sys.argv.pop(1)).resolve()
    WORK = Path(tempfile.mkdtemp(prefix=f"temper_{name}_"))
    try:
        unittest.main(verbosity=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
