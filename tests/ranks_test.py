"""Drives the built programs on several ranks of this machine: python3 tests/ranks_test.py build"""

import functools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import patience

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


def free_port():
    """Below those that the system gives to whoever connects."""
    while True:
        port = random.randrange(20000, 32000)
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


def run_mpi(count, *command, timeout=120, **environment):
    done = subprocess.run([*MPIRUN, "-np", str(count), *map(str, command)], capture_output=True, text=True,
                          errors="replace", timeout=timeout * patient(), env=plain_environment(**environment), cwd=ROOT)
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


def wait_all(processes, timeout=120):
    texts = [p.communicate(timeout=timeout * patient())[0] for p in processes]
    return Ended("".join(texts), [p.returncode for p in processes])


class Ranks(unittest.TestCase):
    def expect_ok(self, ended, count):
        self.assertTrue(all(code == 0 for code in ended.codes), ended.text)
        lines = sorted(line for line in ended.text.splitlines() if line.startswith("ok "))
        self.assertEqual(lines, [f"ok {rank} {count} {rank} {count}" for rank in range(count)], ended.text)


class Collectives(Ranks):
    def test_mpi(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        for count in (1, 2, 4):
            self.expect_ok(run_mpi(count, BUILD / "ranks_collectives"), count)

    def test_tcp(self):
        for count in (1, 2, 3, 4):
            self.expect_ok(wait_all(start_by_hand(count, lambda rank: [BUILD / "ranks_collectives"])), count)

    def test_alone(self):
        done = subprocess.run([BUILD / "ranks_collectives"], capture_output=True, text=True, env=plain_environment())
        self.expect_ok(Ended(done.stdout + done.stderr, [done.returncode]), 1)


class Meeting(Ranks):
    def refuse(self, text, **variables):
        done = subprocess.run([BUILD / "ranks_collectives"], capture_output=True, text=True, timeout=60,
                              env=plain_environment(**variables))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_incomplete_or_impossible_variables(self):
        self.refuse("RANK=0 is set and WORLD_SIZE is not", RANK=0)
        self.refuse("RANK=2: must be a number from 0 to 1", RANK=2, WORLD_SIZE=2)
        self.refuse("MASTER_ADDR is not", RANK=0, WORLD_SIZE=2, MASTER_PORT=1)

    def test_a_rank_that_never_comes(self):
        ranks = start_temper(3, "ranks.start_s=3")
        ranks[1].kill()
        ended = wait_all(ranks, 60)
        self.assertEqual([ended.codes[0], ended.codes[2]], [3, 3], ended.text)
        self.assertEqual(ended.text.count("rank 1 of 3 did not come"), 1, ended.text)
        self.assertEqual(ended.text.count("\n"), 1, ended.text)

    def test_a_rank_that_never_comes_to_mpi(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        ended = run_mpi(1, *temper_words("ranks.start_s=3"), ":", "-np", 1, "sleep", 100, timeout=60)
        self.assertEqual(ended.codes, [3], ended.text)
        self.assertEqual(ended.text.count("rank 0 of 2: not all ranks came to MPI within 3 s"), 1, ended.text)

    def expect_one_line(self, ended, code, *texts):
        self.assertEqual(set(ended.codes), {code}, ended.text)
        for text in texts:
            self.assertIn(text, ended.text)
        self.assertEqual(ended.text.count("\n"), 1, ended.text)

    def test_a_mistake_of_all_is_said_once(self):
        self.expect_one_line(wait_all(start_temper(2, "run.sede=1")), 2, "run.sede: unknown option")
        self.expect_one_line(wait_all(start_temper(2, "model.path=/nowhere")), 2, "/nowhere")

    def test_ranks_that_differ(self):
        def differ(text, **ranks):
            ended = wait_all(start_temper(2, **ranks))
            self.expect_one_line(ended, 2, "the ranks differ in " + text, "rank 1 of 2 (host")

        for option, first, other in (("run.steps", "2", "3"), ("run.seed", "3", "4"), ("tasks.order", "dealt", "difficulty"),
                                     ("learner.micro_batch_tokens", "4096", "4000"), ("rollout.turns", "2", "1")):
            differ(f"option {option}: '{first}' on rank 0, '{other}'",
                   words_of=lambda rank: [f"{option}={other}"] if rank else [])
        differ("the environment variable OMP_NUM_THREADS: '1' on rank 0, '2'",
               of_rank=lambda rank: {"OMP_NUM_THREADS": str(rank + 1)})
        other = WORK / "temper"
        shutil.copy(BUILD / "temper", other)
        with open(other, "ab") as file:
            file.write(b"another build")
        tasks = WORK / "tasks"
        shutil.copytree(ROOT / "env/tasks", tasks, dirs_exist_ok=True)
        (tasks / "more.yaml").write_text("")
        os.makedirs(WORK / "elsewhere/env", exist_ok=True)
        shutil.move(tasks, WORK / "elsewhere/env/tasks")
        differ("the files of tasks.path", directory_of=lambda rank: WORK / "elsewhere" if rank else ROOT)
        differ("the program: ", program_of=lambda rank: other if rank else BUILD / "temper")
        library = WORK / "libc10.so"
        shutil.copy(loaded_library("libc10.so"), library)
        with open(library, "ab") as file:
            file.write(b"another build")
        differ("the library libc10.so: ", of_rank=lambda rank: {"LD_PRELOAD": str(library)} if rank else {})

    def test_ranks_that_count_differently(self):
        ended = wait_all(start_temper(2, of_rank=lambda rank: {"WORLD_SIZE": str(2 + rank)}))
        self.expect_one_line(ended, 2, "the ranks differ in their number: 2 on rank 0, 3 on rank 1")

    def test_one_ranks_mistake(self):
        ended = wait_all(start_temper(2, words_of=lambda rank: ["run.steps=many"] if rank else []))
        self.expect_one_line(ended, 2, "rank 1 of 2 (host", "run.steps: 'many' is not an integer")

    def test_contradicting_launchers(self):
        master = f"127.0.0.1:{free_port()}"
        ended = wait_all(start_temper(2, of_rank=lambda rank: {
            "TEMPER_RANK": str(rank), "TEMPER_WORLD_SIZE": "2", "TEMPER_MASTER": master, "RANK": "0"}))
        self.expect_one_line(ended, 2, "RANK=0 contradicts TEMPER_RANK=1")

    def test_more_ranks_than_gpus(self):
        # More than any machine has; one that sees no GPU refuses cuda as such.
        ended = wait_all(start_temper(2, "model.device=cuda", of_rank=lambda rank: {"CUDA_VISIBLE_DEVICES": ""}))
        self.expect_one_line(ended, 2, "model.device: cuda")


def loaded_library(name):
    """The path of a library that the program loads."""
    shown = subprocess.run(["ldd", BUILD / "temper"], capture_output=True, text=True, check=True).stdout
    return next(words[2] for words in map(str.split, shown.splitlines()) if words[0] == name)


class Strangers(Ranks):
    """Others on the same hosts and network."""

    def test_a_rank_of_another_secret(self):
        ended = wait_all(start_temper(2, "ranks.start_s=4", of_rank=lambda rank: {"TEMPER_SECRET": f"secret of {rank}"}), 60)
        self.assertEqual(ended.codes, [3, 3], ended.text)
        self.assertIn("did not prove to know this job's secret (here: TEMPER_SECRET)", ended.text)

    def test_a_secret_that_others_can_read(self):
        file = WORK / "secret"
        file.write_text("known to everyone")
        environment = {"TEMPER_SECRET": "", "TEMPER_SECRET_FILE": str(file)}
        file.chmod(0o644)
        ended = wait_all(start_temper(2, of_rank=lambda rank: environment))
        self.assertEqual(ended.codes, [2, 2], ended.text)
        self.assertIn(f"chmod 600 {file}", ended.text)
        file.chmod(0o600)
        ranks = start_by_hand(2, lambda rank: [BUILD / "ranks_collectives"], lambda rank: environment)
        self.expect_ok(wait_all(ranks), 2)

    def test_a_secret_is_made_where_none_is_given(self):
        environment = {"TEMPER_SECRET": "", "HOME": str(WORK / "home")}
        ranks = start_by_hand(3, lambda rank: [BUILD / "ranks_collectives"], lambda rank: environment)
        self.expect_ok(wait_all(ranks), 3)
        made = WORK / "home/.config/temper/secret"
        self.assertEqual(made.stat().st_mode & 0o777, 0o600)
        self.assertEqual(len(list(made.parent.iterdir())), 1)

    def test_one_who_writes_into_the_store(self):
        python = ROOT / ".deps/venv/bin/python3"
        if not python.exists():
            self.skipTest("no torch for Python")
        port = free_port()
        stranger = subprocess.Popen([python, "-c", f"""
import datetime, time, torch.distributed as dist
store = dist.TCPStore("127.0.0.1", {port}, None, False, datetime.timedelta(seconds=60))
print("in", flush=True)
while True:  # as long as the ranks wait: who could write over what they say would keep them apart
    for key in ("ring/1", "size/1", "here/1", "code"): store.set("temper/0/" + key, "3")
    store.add("temper/0/end", 1)
"""], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        ranks = [subprocess.Popen([BUILD / "ranks_collectives"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=torchrun_environment(0, 2, port))]
        self.assertEqual(stranger.stdout.readline(), "in\n")
        ranks.append(subprocess.Popen([BUILD / "ranks_collectives"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, env=torchrun_environment(1, 2, port)))
        try:
            self.expect_ok(wait_all(ranks, 100), 2)
        finally:
            stranger.kill()
            stranger.communicate()

    def test_they_hear_nobody_elsewhere(self):
        """Where the master is 127.0.0.1, ranks listen there alone."""
        ranks = start_temper(3)
        ranks[2].kill()  # the others wait for it
        try:
            deadline, seen = time.monotonic() + 30, set()
            while time.monotonic() < deadline and len(seen) < 3:  # the store, and each rank for its neighbour
                seen = listening(ranks[0].pid) | listening(ranks[1].pid)
                time.sleep(0.02)
            self.assertEqual(len(seen), 3, seen)
            self.assertEqual({address for address, _ in seen}, {"127.0.0.1"}, seen)
        finally:
            for rank in ranks:
                rank.kill()
                rank.communicate()

    def test_a_silent_one_holds_nobody_up(self):
        """Connections that say nothing, to every port of the job, while it starts."""
        ranks = start_by_hand(3, lambda rank: [BUILD / "ranks_collectives"])
        silent, start = [], time.monotonic()
        while any(rank.poll() is None for rank in ranks) and time.monotonic() - start < 60:
            for rank in ranks:
                for _, port in listening(rank.pid):
                    if len(silent) < 200:
                        silent.append(socket.socket())
                        silent[-1].setblocking(False)
                        silent[-1].connect_ex(("127.0.0.1", port))
        self.expect_ok(wait_all(ranks), 3)
        for one in silent:
            one.close()


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


class Training(Ranks):
    """1 = 2 = 4 ranks, from the same policy."""

    def expect_same(self, directory):
        rows, step = first_step(directory)
        self.assertEqual(rows, self.rows)
        for name in ("actor/pg_loss", "actor/entropy", "actor/grad_norm"):
            self.assertAlmostEqual(step[name], self.step[name], delta=1e-5 * abs(self.step[name]) + 1e-9)
        self.assertEqual(step["perf/generated_tokens"], self.step["perf/generated_tokens"])

    def test_same_first_step_on_1_2_and_4_ranks(self):
        learn = [f"model.path={model()}", "eval.before=false", "env.lanes=1", "rollout.samples_per_task=3",
                 "rollout.turns=1", "learner.micro_batch_tokens=400", "learner.updates_per_batch=2",
                 "loss.entropy_coefficient=0.1", "loss.kl_coefficient=0.1", "loss.importance_cap=2",
                 "optimizer.lr=1e-2"]
        one = train_alone(*learn)
        self.rows, self.step = first_step(one)
        self.assertEqual(len(self.rows), 6)
        self.assertGreater(self.step["actor/grad_norm"], 0)
        for count, stage in ((2, 1), (2, 2), (4, 2)):
            words = [*learn, f"model.zero_stage={stage}"]
            directory = WORK / f"tcp_{count}_{stage}"
            ended = wait_all(start_temper(count, f"run.dir={directory}", *words))
            self.assertEqual(set(ended.codes), {0}, ended.text)
            self.assertEqual(ended.text.count("policy: " + str(directory)), 1, ended.text)
            self.expect_same(directory)
            logs = sorted(path.name for path in (directory / "log").iterdir())
            self.assertEqual(logs, [f"rank_{rank}.txt" for rank in range(count)])
            if have_mpi():
                directory = WORK / f"mpi_{count}_{stage}"
                ended = run_mpi(count, *temper_words(f"run.dir={directory}", *words))
                self.assertEqual(set(ended.codes), {0}, ended.text)
                self.expect_same(directory)

    def test_cold_start_and_evaluation(self):
        ended = wait_all(start_temper(2, f"run.dir={WORK / 'cold'}", "cold_start.max_seconds=1", "run.max_seconds=5"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertIn("corpus: 24 conversations", ended.text)
        ended = wait_all(start_temper(2, f"model.path={WORK / 'cold/checkpoints/final'}", command="eval"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertEqual(ended.text.count("policy, greedy"), 1, ended.text)


class Failures(Ranks):
    def fail_rank(self, rank, fault, *texts, count=3, code=3, within=12, words=()):
        directory = WORK / "failing"
        shutil.rmtree(directory, ignore_errors=True)
        start = time.monotonic()
        ranks = start_temper(count, f"run.dir={directory}", f"ranks.timeout_s={4 * patient()}", f"ranks.silence_s={3 * patient()}",
                             f"ranks.start_s={30 * patient()}", *words, of_rank=lambda r: {"TEMPER_FAULT": fault} if r == rank else {})
        pids = [process.pid for process in ranks]
        ended = wait_all(ranks, 60)
        took = time.monotonic() - start
        for other in set(range(count)) - {rank}:
            self.assertEqual(ended.codes[other], code, ended.text)
        self.assertNotEqual(ended.codes[rank], 0 if "exit" not in fault else None, ended.text)
        who = f"rank {rank} of {count} (host {socket.gethostname()}, pid {pids[rank]}) "
        self.assertEqual(ended.text.count("; all ranks end"), 1, ended.text)
        for text in (who, *texts):
            self.assertIn(text, ended.text)
        self.assertLess(took, within * patient(), ended.text)
        self.assert_nothing_left(pids)

    def fail_unsaved(self, rank, fault, *texts, within=20, **rest):
        """The rank fails, and not one checkpoint is written."""
        self.fail_rank(rank, fault, *texts, within=within, **rest)
        saved = [path for path in (WORK / "failing/checkpoints").glob("*") if not path.name.endswith(".tmp")]
        self.assertEqual(saved, [])

    def assert_nothing_left(self, pids):
        """Neither ranks nor their judges: those carry this test's mark in their environment."""
        for _ in range(20):
            left = [pid for pid in marked_processes() if pid != os.getpid()]
            if not left:
                return
            time.sleep(0.2)
        self.fail(f"left behind: {left}")


class Failing(Failures):
    """Each kind of end of one rank, in each phase: all end, one message says who, where and what."""

    def test_killed_while_generating(self):
        self.fail_rank(1, "rollout:kill", "was killed or crashed in rollout")

    def test_crashed_in_an_update(self):
        self.fail_rank(2, "update:crash", "was killed or crashed in update")

    def test_left_without_a_word_in_the_corpus(self):
        self.fail_rank(1, "corpus:exit", "was killed or crashed in corpus")

    def test_failed_at_start_up(self):
        self.fail_rank(1, "start-up:throw", "failed in start-up: this failure was asked for")

    def test_failed_in_a_save(self):
        self.fail_rank(0, "save:throw", "failed in save: this failure was asked for")

    def test_stopped_while_judging(self):
        self.fail_rank(1, "judging:stop", "has given no sign of life for", "in judging")

    def test_hung_in_front_of_a_collective(self):
        self.fail_rank(1, "weights:hang", "hangs in update: no progress for", 'wait in the collective "weights of model.embed_tokens"', 'ranks 0 and 2 wait in call ',
                       ', the all-gather "weights of model.embed_tokens" of ', within=20)

    def test_first_rank_killed(self):
        self.fail_rank(0, "rollout:kill", "was killed or crashed in rollout")

    def test_first_rank_stopped(self):
        self.fail_rank(0, "update:stop", "has given no sign of life for", "in update")

    # From the second time on a step before tells what belongs there; in front of the first save.

    def test_left_out_an_all_reduce(self):
        self.fail_unsaved(1, "gradient norm:skip@2", "has made other collective calls than the others: it left out call ",
                          ', the all-reduce "gradient norm" of 1 × f64, and went on with the note "update" of ')

    def test_first_rank_left_out_an_all_reduce(self):
        self.fail_unsaved(0, "gradient norm:skip@2", "has made other collective calls than the others: it left out call ",
                          ', the all-reduce "gradient norm" of 1 × f64, and went on')

    def test_left_out_the_very_first_all_reduce(self):
        """Nothing tells what belongs there: both calls are named."""
        self.fail_unsaved(1, "gradient norm:skip", "has made other collective calls than the others: ",
                          'the all-reduce "gradient norm" of 1 × f64')

    def test_left_out_the_gradients_of_one_unit(self):
        for stage in (1, 2):
            self.fail_unsaved(2, "gradients of model.layers.1:skip@2",
                              "has made other collective calls than the others: it left out call ",
                              ', the reduce-scatter "gradients of model.layers.1" of ', words=[f"model.zero_stage={stage}"])

    def test_left_out_the_weights_of_one_unit(self):
        self.fail_unsaved(1, "weights of model.layers.0:skip@2", "it left out call ", ', the all-gather "weights of model.layers.0" of ')

    def test_left_out_a_micro_batch(self):
        """Under ZeRO-1 that is no collective: what is summed would be of fewer rows."""
        self.fail_unsaved(1, "micro-batch:skip@2", "it left out call ", ', the note "micro-batch" of 1, and went on with the ',
                          words=["model.zero_stage=1"])

    def test_made_an_all_reduce_twice(self):
        self.fail_unsaved(1, "gradient norm:twice@2", "has made other collective calls than the others: its call ",
                          ', the all-reduce "gradient norm" of 1 × f64, is one that the others did not make')

    def test_of_two_ranks_both_are_named(self):
        for rank in (1, 0):
            self.fail_unsaved(rank, "gradients of model.layers.1:skip@2", "have made different collective calls: call ",
                              'the reduce-scatter "gradients of model.layers.1" of ',
                              f"rank 0 of 2 (host {socket.gethostname()}, pid ", f" and rank 1 of 2 (host {socket.gethostname()}, pid ",
                              f"rank {rank} left out the reduce-scatter", f"or rank {1 - rank} made it once too often", count=2)

    LEARNS = ["eval.before=false", "run.steps=4", "ranks.check_every=1"]

    def test_one_bit_of_one_ranks_weights(self):
        # Behind the first update, in front of the first save.
        words = [f"model.path={model()}", "eval.before=false", "run.steps=9", "checkpoint.every=1", "ranks.check_every=0"]
        self.fail_unsaved(1, "gathered:flip@2", "failed in save: its weights are not those of the other ranks: model.layers.",
                          "differs", words=words)

    def test_one_bit_of_each_unit(self):
        """A flipped bit that is learned from is in all ranks: it must be found before."""
        for unit in ("model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm"):
            self.fail_unsaved(2, f"weights of {unit}:flip", f"its weights are not those of the other ranks: {unit} differs",
                              words=[f"model.path={model()}", *self.LEARNS, "checkpoint.every=0"], within=30)

    def test_one_bit_of_the_reference(self):
        self.fail_unsaved(1, "reference:flip", "its weights are not those of the other ranks: model.layers.",
                          " of the reference policy differs", within=30,
                          words=[f"model.path={model()}", *self.LEARNS, "checkpoint.every=0", "loss.kl_coefficient=0.1"])

    def test_one_bit_of_the_batch(self):
        self.fail_unsaved(1, "batch:flip", "has made other collective calls than the others: its call ", ' is the note "batch" of ',
                          within=30, words=[f"model.path={model()}", *self.LEARNS, "checkpoint.every=1"])

    def test_sends_what_is_no_message(self):
        for rank in (1, 0):
            self.fail_rank(rank, "beat:garbage@3", "sent 11 bytes that are no message of a rank", within=20, words=["run.steps=100000"])

    def test_killed_under_mpirun(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        words = temper_words(f"run.dir={WORK / 'mpi_failing'}", "ranks.silence_s=3")
        ended = run_mpi(1, *words, ":", "-np", 1, "-x", "TEMPER_FAULT=rollout:kill", *words, timeout=60)
        self.assertNotEqual(ended.codes[0], 0)
        self.assertEqual(ended.text.count("was killed or crashed in rollout; all ranks end"), 1, ended.text)

    def test_slow_is_not_hung(self):
        ended = wait_all(start_temper(2, f"run.dir={WORK / 'slow'}", "ranks.timeout_s=20", "ranks.silence_s=3",
                                      of_rank=lambda rank: {"TEMPER_FAULT": "rollout:slow"} if rank else {}))
        self.assertEqual(set(ended.codes), {0}, ended.text)

    def test_interrupt_of_one_rank_ends_all_with_a_checkpoint(self):
        directory = WORK / "interrupted"
        ended = wait_all(start_temper(2, f"run.dir={directory}", "run.steps=1000000",
                                      of_rank=lambda rank: {"TEMPER_FAULT": "save:interrupt"} if rank else {}))
        self.assertEqual(set(ended.codes), {130}, ended.text)
        self.assertTrue((directory / "checkpoints/final/model.safetensors").exists(), ended.text)


class Calls(Ranks):
    """Ranks that make given calls, some of them others than the rest: all end in seconds, and the message names the call."""

    def make(self, *by_rank):
        start = time.monotonic()
        ended = wait_all(start_by_hand(len(by_rank), lambda rank: [BUILD / "ranks_collectives", "calls", *by_rank[rank]]), 60)
        self.assertLess(time.monotonic() - start, 20, ended.text)
        return ended

    def expect_end(self, ended, *texts):
        self.assertTrue(all(code in (3, -9) for code in ended.codes), f"{ended.codes} {ended.text}")
        self.assertEqual(ended.text.count("; all ranks end"), 1, ended.text)
        for text in texts:
            self.assertIn(text, ended.text)

    STEP = ["sum:loss", "scatter:gradients:100", "sum:norm", "note:update:1", "gather:weights:100", "text:answers:50"]

    def test_like_calls(self):
        self.expect_ok(self.make(*[self.STEP * 3] * 3), 3)

    def test_a_call_left_out(self):
        without = self.STEP * 2 + ["sum:loss", *self.STEP[2:], *self.STEP]
        self.expect_end(self.make(self.STEP * 4, without, self.STEP * 4), "rank 1 of 3",
                        "it left out call ", ', the reduce-scatter "gradients" of 100 × f32, and went on with the all-reduce "norm"')
        self.expect_end(self.make(without, self.STEP * 4), "rank 0 of 2", " and rank 1 of 2", 'rank 0 left out the reduce-scatter "gradients"')

    def test_another_shape(self):
        other = ["scatter:gradients:101" if word == "scatter:gradients:100" else word for word in self.STEP]
        self.expect_end(self.make(self.STEP * 2, self.STEP * 2, self.STEP + other), "rank 2 of 3", ' is the reduce-scatter "gradients" '
                        'of 101 × f32, that of the others the reduce-scatter "gradients" of 100 × f32')

    def test_another_number(self):
        """No message differs, and all come to the end together: it is compared there."""
        self.expect_end(self.make(["sum:loss", "note:batch:5"], ["sum:loss", "note:batch:6"], ["sum:loss", "note:batch:5"]),
                        "rank 1 of 3", 'is the note "batch" of 6, that of the others the note "batch" of 5')

    def test_the_last_call_left_out(self):
        """Those that wait would wait for ever."""
        leaves, waits = [*self.STEP, "sleep:3000", "leave"], [*self.STEP, "sum:last", "leave"]  # all others wait by then
        ended = self.make(waits, leaves, waits)
        self.assertEqual(ended.codes, [3, 0, 3], ended.text)  # rank 1 had come to its end
        for text in ("rank 1 of 3", "has come to its end and left out a collective call: ranks 0 and 2 wait in call ",
                     ', the all-reduce "last" of 1 × f64; all ranks end'):
            self.assertIn(text, ended.text)
        left, waiting = wait_each(start_by_hand(2, lambda rank: [BUILD / "ranks_collectives", "calls", *([waits, leaves][1 - rank])]))
        self.assertEqual([left.codes, waiting.codes], [[0], [3]], left.text + waiting.text)
        self.assertIn("rank 0 of 2", waiting.text)
        self.assertIn('left out a collective call: rank 1 waits in call ', waiting.text)

    def test_who_waits_for_whom(self):
        waits, late = [*self.STEP, "sum:last"], [*self.STEP, "sleep:30000", "sum:last"]
        self.expect_end(self.make(waits, waits, late), "rank 2 of 3", 'while others wait in the collective "last": ranks 0 and 1 wait in call ',
                        ', the all-reduce "last" of 1 × f64')

    def test_a_failure_that_another_ranks_calls_led_to(self):
        """Who fails may have met another call's numbers: whose calls differ is said, not what they were taken for."""
        like, unlike = [*self.STEP, "note:batch:5", "sum:last"], [*self.STEP, "note:batch:6", "sum:last"]
        self.expect_end(self.make([*like, "throw:nonsense"], like, unlike), "rank 2 of 3", 'is the note "batch" of 6')

    def test_a_failure_of_its_own(self):
        self.expect_end(self.make(self.STEP + ["throw:nonsense"], self.STEP * 2, self.STEP * 2), "rank 0 of 3", ": nonsense; all ranks end")

    def test_any_change_is_named(self):
        """Calls drawn at random, and one of a rank left out, added or of another shape."""
        draw = random.Random(7)
        for trial in range(int(os.environ.get("TEMPER_TRIALS", "12"))):
            step = [draw.choice(("sum:s{}", "gather:g{}:{}", "scatter:r{}:{}", "text:t{}:{}", "note:n{}:{}")).format(i, draw.randint(1, 3000))
                    for i in range(draw.randint(2, 8))]
            calls = step * draw.randint(2, 6)
            count, place = draw.randint(2, 4), draw.randrange(len(step), len(calls))
            odd_rank, odd, name = draw.randrange(count), list(calls), calls[place].split(":")[1]
            kind = draw.choice(("left out", "added", "shape"))
            if kind == "shape" and calls[place][0] in "st":
                kind = "left out"  # of one shape
            if kind == "left out":
                del odd[place]
            elif kind == "added":
                odd.insert(place, f"sum:x{place}")
                name = f"x{place}"
            else:
                odd[place] = re.sub(r"\d+$", lambda number: str(int(number[0]) + 1), calls[place])
            with self.subTest(trial=trial, kind=kind, count=count, rank=odd_rank, word=calls[place], step=step):
                ended = self.make(*[odd if rank == odd_rank else calls for rank in range(count)])
                said = {"left out": "left out", "added": "did not make", "shape": "its call "}[kind] if count > 2 else "different"
                self.expect_end(ended, f"rank {odd_rank} of {count}", said, f'"{name}"')


def wait_each(processes, timeout=60):
    return [wait_all([process], timeout) for process in processes]


class Containers(Ranks):
    """Ranks whose processes do not see each other: pid namespaces."""

    # Beside an init of its own: one that stops itself is not stopped where it is the first process of its namespace.
    APART = ["unshare", "--pid", "--fork", "sh", "-c", '"$@"; exit $?', "init"]

    def setUp(self):
        if subprocess.run([*self.APART, "true"], capture_output=True).returncode != 0:
            self.skipTest("no pid namespaces here")
        self.directory = Path(tempfile.mkdtemp(dir=WORK)) / "run"

    def start(self, *words, fault=""):
        """Rank 1 in a container of its own."""
        words = [f"run.dir={self.directory}", f"model.path={taught()}", *TAUGHT, "run.overwrite=false", "ranks.silence_s=3",
                 "checkpoint.every=2", *words]
        command = temper_words(*words)
        return start_by_hand(2, lambda rank: [*self.APART, *command] if rank else command,
                             lambda rank: {"TEMPER_FAULT": fault} if rank and fault else {})

    def stop_the_old_one(self):
        """A run whose rank 1 was stopped in front of a write, and whose rank 0 has ended."""
        old = self.start("run.steps=100000", fault="write:stop@40")
        self.assertEqual(old[0].wait(100), 3)
        self.assertIn("has given no sign of life", old[0].stdout.read())
        self.assertIsNone(old[1].poll())
        return old[1]

    def wake(self, old):
        pid = old.pid
        for _ in range(2):  # its init, and the rank
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            self.assertEqual(len(children), 1)
            pid = int(children[0])
        os.kill(pid, signal.SIGCONT)
        text = old.communicate(timeout=60)[0]
        self.assertNotEqual(old.returncode, 0, text)

    def content(self):
        return {str(path): path.read_bytes() for path in sorted(self.directory.rglob("*")) if path.is_file()}

    def test_an_old_rank_that_wakes_later_writes_nothing(self):
        old = self.stop_the_old_one()
        steps = max(line["step"] for line in json_lines(self.directory / "metrics.jsonl")) + 2
        ended = wait_all(self.start(f"run.steps={steps}"))
        self.assertEqual(ended.codes, [0, 0], ended.text)
        before = self.content()
        self.wake(old)
        self.assertEqual(self.content(), before)

    def test_an_old_rank_that_wakes_beside_the_new_ones(self):
        old = self.stop_the_old_one()
        steps = max(line["step"] for line in json_lines(self.directory / "metrics.jsonl")) + 6
        new = self.start(f"run.steps={steps}")
        journal = self.directory / "verdicts/rank_1.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and "resumes after" not in (self.directory / "log/rank_0.txt").read_text()[-2000:]:
            time.sleep(0.02)
        self.wake(old)
        ended = wait_all(new)
        self.assertEqual(ended.codes, [0, 0], ended.text)
        self.assertTrue(all(line.startswith("{") and line.endswith("}") for line in journal.read_text().splitlines()))


class Hosts(Ranks):
    """Two hosts: network namespaces with a wire between them."""

    NET = "10.213.77"

    def setUp(self):
        self.names = [f"temper{os.getpid()}h{host}" for host in range(2)]
        wires = [f"tmpr{os.getpid() % 100000}w{host}" for host in range(2)]
        commands = [f"ip netns add {name}" for name in self.names]
        commands += [f"ip link add {wires[0]} netns {self.names[0]} type veth peer name {wires[1]} netns {self.names[1]}"]
        for host, (name, wire) in enumerate(zip(self.names, wires)):
            commands += [f"ip -n {name} addr add {self.NET}.{host + 1}/24 dev {wire}", f"ip -n {name} link set {wire} up",
                         f"ip -n {name} link set lo up"]
        self.unplug = f"ip -n {self.names[1]} link set {wires[1]} down"
        for command in commands:
            try:
                done = subprocess.run(command.split(), capture_output=True, text=True)
            except FileNotFoundError:
                self.skipTest("no ip command")
            if done.returncode != 0:
                self.tearDown()
                self.skipTest(f"no network namespaces here: {command}: {done.stderr.strip()}")

    def tearDown(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def start(self, count, *words, of_rank=lambda rank: {}):
        def environment(rank):
            return {"MASTER_ADDR": f"{self.NET}.1", "MASTER_PORT": "29500"} | of_rank(rank)

        words = temper_words(*words)
        return start_by_hand(count, lambda rank: ["ip", "netns", "exec", self.names[rank * 2 // count], *words], environment)

    def test_by_hand(self):
        directory = WORK / "hosts"
        ended = wait_all(self.start(4, f"run.dir={directory}"))
        self.assertEqual(set(ended.codes), {0}, ended.text)
        self.assertIn("ranks: 4", ended.text)
        self.assertTrue((directory / "checkpoints/final/model.safetensors").exists())

    def test_mpirun_with_an_agent(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        agent = WORK / "agent"
        agent.write_text(f"#!/bin/bash\nhost=$1; shift\nexec ip netns exec {self.names[0][:-1]}$((${{host##*.}} - 1)) bash -c \"$*\"\n")
        agent.chmod(0o755)
        net = f"{self.NET}.0/24"
        options = ["--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "oob_tcp_if_include", net,
                   "--mca", "btl_tcp_if_include", net, "-H", f"{self.NET}.1:1,{self.NET}.2:1"]
        done = subprocess.run(["ip", "netns", "exec", self.names[0], *MPIRUN, *map(str, options), "-np", "2",
                               *map(str, temper_words(f"run.dir={WORK / 'mpi_hosts'}"))], capture_output=True, text=True,
                              errors="replace", timeout=120, env=plain_environment(), cwd=ROOT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ranks: 2", done.stdout)

    def test_a_rank_killed_on_the_other_host(self):
        ended = wait_all(self.start(4, f"run.dir={WORK / 'hosts_killed'}",
                                    of_rank=lambda rank: {"TEMPER_FAULT": "update:kill"} if rank == 3 else {}), 60)
        self.assertEqual(ended.codes[:3], [3, 3, 3], ended.text)
        self.assertEqual(ended.text.count("; all ranks end"), 1, ended.text)
        self.assertIn("rank 3 of 4", ended.text)

    def test_a_wire_that_breaks(self):
        ranks = self.start(2, f"run.dir={WORK / 'unplugged'}", "run.steps=1000000", "ranks.silence_s=3", "eval.before=false")
        metrics = WORK / "unplugged/metrics.jsonl"
        for _ in range(300):
            if metrics.exists() and "actor/pg_loss" in metrics.read_text():
                break
            time.sleep(0.1)
        start = time.monotonic()
        subprocess.run(self.unplug.split(), check=True)
        ended = wait_all(ranks, 60)
        self.assertLess(time.monotonic() - start, 10, ended.text)
        # Each side sees the other as lost, and here, on one machine, may end it before it ends itself.
        self.assertTrue(set(ended.codes) <= {3, -9}, ended.text)
        self.assertIn("has given no sign of life for", ended.text)


def marked_processes():
    mark = f"TEMPER_RANKS_TEST={os.getpid()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if state != "Z" and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except (OSError, IndexError):
            pass
    return found


def run_tests(name):
    """Those of the program that runs, on the build that its command line names."""
    global BUILD, WORK
    BUILD = Path(sys.argv.pop(1)).resolve()
    WORK = Path(tempfile.mkdtemp(prefix=f"temper_{name}_"))
    try:
        unittest.main(verbosity=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


if __name__ == "__main__":
    run_tests("ranks")
