"""Ranks that fail: all end, and one message says why: python3 tests/ranks_failing_test.py build"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import jobs
from jobs import (TAUGHT, Ranks, have_mpi, json_lines, model, patient, run_mpi, start_by_hand, start_temper, taught,
                  temper_words, wait_all)
from patience import PATIENCE_S, comes_true

# A rank that gets no core for a while is neither silent nor hung; that its candidates are judged may take seconds, too.
SILENCE_S, TIMEOUT_S = 10, 30


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:  # it has ended, and is waited for
        return "Z"


def marked_processes():
    mark = f"TEMPER_RANKS_TEST={os.getpid()}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if state_of(entry.name) != "Z" and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except (OSError, IndexError):
            pass
    return found


class Failures(Ranks):
    def fail_rank(self, rank, fault, *texts, count=3, code=3, words=()):
        directory = jobs.WORK / "failing"
        shutil.rmtree(directory, ignore_errors=True)
        ranks = start_temper(count, f"run.dir={directory}", f"ranks.timeout_s={TIMEOUT_S * patient()}", f"ranks.silence_s={SILENCE_S * patient()}",
                             f"ranks.start_s={PATIENCE_S * patient()}", *words, of_rank=lambda r: {"TEMPER_FAULT": fault} if r == rank else {})
        pids = [process.pid for process in ranks]
        ended = wait_all(ranks)
        for other in set(range(count)) - {rank}:
            self.assertEqual(ended.codes[other], code, ended.text)
        self.assertNotEqual(ended.codes[rank], 0 if "exit" not in fault else None, ended.text)
        who = f"rank {rank} of {count} (host {socket.gethostname()}, pid {pids[rank]}) "
        self.assertEqual(ended.text.count("; all ranks end"), 1, ended.text)
        for text in (who, *texts):
            self.assertIn(text, ended.text)
        self.assert_nothing_left(pids)

    def fail_unsaved(self, rank, fault, *texts, **rest):
        """The rank fails, and not one checkpoint is written."""
        self.fail_rank(rank, fault, *texts, **rest)
        saved = [path for path in (jobs.WORK / "failing/checkpoints").glob("*") if not path.name.endswith(".tmp")]
        self.assertEqual(saved, [])

    def assert_nothing_left(self, pids):
        """Neither ranks nor their judges: those carry this test's mark in their environment."""
        if not comes_true(lambda: set(marked_processes()) <= {os.getpid()}):
            left = set(marked_processes()) - {os.getpid()}
            for pid in left:
                os.kill(pid, signal.SIGKILL)  # so that the next test does not find them
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
                       ', the all-gather "weights of model.embed_tokens" of ')

    def test_hung_in_front_of_a_gather(self):
        self.fail_rank(1, "weights of model.layers.1:hang@2", "hangs in update: no progress for", 'wait in the collective "weights of model.layers.1"',
                       ', the all-gather "weights of model.layers.1" of ', words=["model.zero_stage=3"])

    def test_killed_in_front_of_a_gather(self):
        self.fail_rank(2, "weights of model.layers.1:kill@2", "was killed or crashed in update", words=["model.zero_stage=3"])

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

    def test_left_out_in_one_of_two_groups(self):
        """What one group does is compared with what the other does."""
        for call, name in (("reduce-scatter", "gradients of model.layers.1"), ("all-reduce", "gradients of model.layers.0 over replicas")):
            self.fail_unsaved(2, f"{name}:skip@2", "has made other collective calls than the others: it left out call ",
                              f', the {call} "{name}" of ', count=4, words=["model.zero_stage=2", "model.shard_degree=2"])

    def test_left_out_the_weights_of_one_unit(self):
        for stage in (1, 3):
            self.fail_unsaved(1, "weights of model.layers.0:skip@2", "it left out call ", ', the all-gather "weights of model.layers.0" of ',
                              words=[f"model.zero_stage={stage}"])

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
                              words=[f"model.path={model()}", *self.LEARNS, "checkpoint.every=0"])

    def test_one_bit_of_the_reference(self):
        self.fail_unsaved(1, "reference:flip", "its weights are not those of the other ranks: model.layers.",
                          " of the reference policy differs",
                          words=[f"model.path={model()}", *self.LEARNS, "checkpoint.every=0", "loss.kl_coefficient=0.1"])

    def test_one_bit_of_the_batch(self):
        self.fail_unsaved(1, "batch:flip", "has made other collective calls than the others: its call ", ' is the note "batch" of ',
                          words=[f"model.path={model()}", *self.LEARNS, "checkpoint.every=1"])

    def test_sends_what_is_no_message(self):
        for rank in (1, 0):
            self.fail_rank(rank, "beat:garbage@3", "sent 11 bytes that are no message of a rank", words=["run.steps=100000"])

    def test_killed_under_mpirun(self):
        if not have_mpi():
            self.skipTest("no Open MPI")
        words = temper_words(f"run.dir={jobs.WORK / 'mpi_failing'}", f"ranks.silence_s={SILENCE_S}")
        ended = run_mpi(1, *words, ":", "-np", 1, "-x", "TEMPER_FAULT=rollout:kill", *words)
        self.assertNotEqual(ended.codes[0], 0)
        self.assertEqual(ended.text.count("was killed or crashed in rollout; all ranks end"), 1, ended.text)

    def test_slow_is_not_hung(self):
        """It sleeps for longer than a rank may be silent."""
        ended = wait_all(start_temper(2, f"run.dir={jobs.WORK / 'slow'}", f"ranks.timeout_s={4 * TIMEOUT_S}", f"ranks.silence_s={SILENCE_S}",
                                      of_rank=lambda rank: {"TEMPER_FAULT": "rollout:slow"} if rank else {}))
        self.assertEqual(set(ended.codes), {0}, ended.text)

    def test_interrupt_of_one_rank_ends_all_with_a_checkpoint(self):
        directory = jobs.WORK / "interrupted"
        ended = wait_all(start_temper(2, f"run.dir={directory}", "run.steps=1000000",
                                      of_rank=lambda rank: {"TEMPER_FAULT": "save:interrupt"} if rank else {}))
        self.assertEqual(set(ended.codes), {130}, ended.text)
        self.assertTrue((directory / "checkpoints/final/model.safetensors").exists(), ended.text)


class Containers(Ranks):
    """Ranks whose processes do not see each other: pid namespaces."""

    # Beside an init of its own: one that stops itself is not stopped where it is the first process of its namespace.
    APART = ["unshare", "--pid", "--fork", "--kill-child", "sh", "-c", '"$@"; exit $?', "init"]

    def setUp(self):
        if subprocess.run([*self.APART, "true"], capture_output=True).returncode != 0:
            self.skipTest("no pid namespaces here")
        self.directory = Path(tempfile.mkdtemp(dir=jobs.WORK)) / "run"

    def start(self, *words, fault=""):
        """Rank 1 in a container of its own."""
        words = [f"run.dir={self.directory}", f"model.path={taught()}", *TAUGHT, "run.overwrite=false", f"ranks.silence_s={SILENCE_S}",
                 "checkpoint.every=2", *words]
        command = temper_words(*words)
        ranks = start_by_hand(2, lambda rank: [*self.APART, *command] if rank else command,
                              lambda rank: {"TEMPER_FAULT": fault} if rank and fault else {})
        for rank in ranks:
            self.addCleanup(rank.kill)  # else a failed test would leave them behind for those after it
        return ranks

    def stop_the_old_one(self):
        """A run whose rank 1 was stopped in front of a write, and whose rank 0 has ended."""
        old = self.start("run.steps=100000", fault="write:stop@40")
        self.assertEqual(old[0].wait(PATIENCE_S), 3)
        self.assertIn("has given no sign of life", old[0].stdout.read())
        self.assertIsNone(old[1].poll())
        return old[1]

    def wake(self, old):
        [init] = children(old.pid)
        [rank] = [pid for pid in children(init) if state_of(pid) == "T"]  # orphans may be beside it
        os.kill(rank, signal.SIGCONT)
        text = old.communicate(timeout=PATIENCE_S)[0]
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
        begun = lambda: (self.directory / "log/rank_0.txt").read_text().count(" device: CPU") == 2
        self.assertTrue(comes_true(begun))
        self.wake(old)
        ended = wait_all(new)
        self.assertEqual(ended.codes, [0, 0], ended.text)
        self.assertTrue(all(line.startswith("{") and line.endswith("}") for line in journal.read_text().splitlines()))


if __name__ == "__main__":
    jobs.run_tests("ranks_failing")
