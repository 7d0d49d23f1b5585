"""Ranks that are killed, stopped, hang, leave out a call, hold other weights, come twice, or do not belong to the job."""

import json
import os
import signal
import struct
import time
import unittest

import jobs
import ranks_failing_test
import ranks_test
import resumed_runs

from .harness import Skipped, case, expect
from .runs import ended, goes_on, preload, start, wait_for_step


def rank_fault(name, fault, code, said, rank=1, quick=False):
    @case(name=name, quick=quick)
    def _(folder):
        """All ranks end, one line names the rank, its process and its phase, and the same command goes on."""
        run = start(folder / "run", count=2, of_rank=lambda r: {"TEMPER_FAULT": fault} if r == rank else {})
        pid = run[rank].pid
        done = jobs.wait_all(run)
        expect(done.codes[1 - rank] == code and said in done.text, f"{done.codes}\n{done.text}")
        expect(f"rank {rank} of 2" in done.text and f"pid {pid}" in done.text, done.text)
        expect(done.text.count("; all ranks end") == 1, done.text)
        goes_on(folder / "run")


rank_fault("rank 1 of 2 killed in an update", "update:kill@3", 3, "was killed or crashed in update", quick=True)
rank_fault("rank 0 of 2 killed in a rollout", "rollout:kill@4", 3, "was killed or crashed in rollout", 0)
rank_fault("rank 1 of 2 hangs before a collective", "gradients:hang@3", 3, "hangs in update")
rank_fault("rank 1 of 2 stopped", "update:stop@3", 3, "has given no sign of life")
rank_fault("rank 0 of 2 stopped", "update:stop@3", 3, "has given no sign of life", 0)
rank_fault("peer gone in the exchange of gradients", "gradients:kill@3", 3, "was killed or crashed in update")
rank_fault("one rank leaves out an all-reduce", "gradient norm:skip@2", 3, "left out the all-reduce \"gradient norm\"")
rank_fault("a rank says what is no message", "beat:garbage@3", 3, "that are no message of a rank")


@case
def rank_1_of_2_cannot_write_its_share(folder):
    """The save is said to have failed and training goes on, on both."""
    run = start(folder / "run", "run.steps=8", count=2, of_rank=lambda rank: {"TEMPER_FAULT": "share:throw@2"} if rank else {})
    ended(run, 0, 0, said="WARNING: step_000004 was not saved: this failure")


@case
def both_ranks_stopped_and_woken(folder):
    """A machine that sleeps for twenty seconds: the run goes on where it was, or ends with a word; it never hangs."""
    run = start(folder / "run", "run.steps=12", count=2)
    wait_for_step(folder / "run", 2, run)
    for rank in run:
        rank.send_signal(signal.SIGSTOP)
    time.sleep(20)
    for rank in run:
        rank.send_signal(signal.SIGCONT)
    done = jobs.wait_all(run)
    expect(done.codes == [0, 0] or done.codes[0] == 3 and "has given no sign of life" in done.text, f"{done.codes}\n{done.text}")


# ------------------------------------------------------------------------------------------------------------ from outside, with MPI

LEFT_OUT = r"""
#include <dlfcn.h>
#include <stdlib.h>
static long came;
static int left_out(void** request) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  if (!rank || atoi(rank) != 1 || ++came != atol(getenv("CASE_AT"))) return 0;
  *request = dlsym(RTLD_DEFAULT, "ompi_request_null");
  return 1;
}
typedef int (*Call)(void*, void*, int, void*, void*, void*, void**);
int MPI_Iallreduce(void* from, void* to, int count, void* type, void* sum, void* ranks, void** request) {
  return left_out(request) ? 0 : ((Call)dlsym(RTLD_DEFAULT, "PMPI_Iallreduce"))(from, to, count, type, sum, ranks, request);
}
int MPI_Ireduce_scatter_block(void* from, void* to, int count, void* type, void* sum, void* ranks, void** request) {
  return left_out(request) ? 0 : ((Call)dlsym(RTLD_DEFAULT, "PMPI_Ireduce_scatter_block"))(from, to, count, type, sum, ranks, request);
}
"""


@case
def mpi_rank_killed(folder):
    """mpirun ends with the words of rank 0, and the same command goes on."""
    if not jobs.have_mpi():
        raise Skipped("no Open MPI")
    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *resumed_runs.BASE,
                              "run.steps=40", "ranks.silence_s=10")
    done = jobs.run_mpi(1, *words, ":", "-np", 1, "-x", "TEMPER_FAULT=update:kill@3", *words)
    expect("was killed or crashed in update" in done.text and done.codes[0] != 0, done.text)
    goes_on(folder / "run")


# --------------------------------------------------------------------------------------------------------- a bit flipped from outside

def some_weights(size=96):
    """(name, bytes) of a piece from the middle of a tensor, as it lies in a process that has read the policy."""
    with open(jobs.taught() / "model.safetensors", "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        name = next(name for name in sorted(header) if name.endswith("mlp.up_proj.weight"))
        begin, end = header[name]["data_offsets"]
        file.seek(8 + length + (begin + end) // 2)
        return name, file.read(size)


def flip_in_memory(pid, piece):
    """The lowest bit of an exponent, in every copy of the piece that may be written to; how many there were."""
    found = 0
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            begin, end = (int(word, 16) for word in span.split("-"))
            if not rights.startswith("rw") or end - begin > 1 << 30:
                continue
            try:
                memory.seek(begin)
                data = memory.read(end - begin)
            except OSError:
                continue
            at = data.find(piece)
            while at >= 0:
                memory.seek(begin + at + 2)
                memory.write(bytes([piece[2] ^ 0x80]))
                found += 1
                at = data.find(piece, at + 1)
    return found


@case
def a_bit_of_one_ranks_weights_flipped_from_outside(folder):
    """Both ranks end with 3 before anything is saved, and the line names the rank and the tensor."""
    name, piece = some_weights()
    run = start(folder / "run", "optimizer.lr=0", "optimizer.weight_decay=0", "checkpoint.every=2", "ranks.check_every=1", count=2)
    wait_for_step(folder / "run", 1, run)
    run[1].send_signal(signal.SIGSTOP)
    flipped = flip_in_memory(run[1].pid, piece)
    run[1].send_signal(signal.SIGCONT)
    try:
        expect(flipped > 0, "the weights were not found in memory")
        ended(run, 3, None, said=("rank 1 of 2", "its weights are not those of", "model.layers.0"), within=30)
    finally:
        for rank in run:
            rank.kill()
    expect(all(path.name == "step_000000" or "tmp" in path.name for path in (folder / "run/checkpoints").glob("step_*") if
               path.stat().st_mtime > time.time() - 0.01), "saved")


# ---------------------------------------------------------------------------------------------------- what the tests of ranks try, too

def from_tests(kind, name):
    test = kind(name)
    words = " ".join(name.removeprefix("test_").split("_"))

    def body(folder):
        if os.environ.get("TEMPER_RANKS_TEST"):
            del os.environ["TEMPER_RANKS_TEST"]
        try:
            test.setUp()
        except unittest.SkipTest as why:
            raise Skipped(str(why))
        try:
            getattr(test, name)()
        except unittest.SkipTest as why:
            raise Skipped(str(why))
        finally:
            test.tearDown()
            test.doCleanups()

    body.__doc__ = getattr(kind, name).__doc__ or HOLDS[name]
    case(name=words, needs=(jobs.model, jobs.taught))(body)


HOLDS = {
    "test_a_rank_of_another_secret": "Ranks that do not know the job's secret are not believed, and those that wait for it say so.",
    "test_a_secret_that_others_can_read": "A file with the secret that others may read is refused with the command that mends it.",
    "test_one_who_writes_into_the_store": "One who writes keys into the meeting's store is not believed: the job starts and ends well.",
    "test_an_old_rank_that_wakes_later_writes_nothing":
        "A rank stopped in another pid namespace that wakes after the run was started again and has ended writes nothing.",
    "test_an_old_rank_that_wakes_beside_the_new_ones":
        "A rank stopped in another pid namespace that wakes beside those of the next start ends, and the new ones go on.",
    "test_a_wire_that_breaks": "Two hosts whose wire breaks both end, soon after neither has heard of the other for as long as it may be silent.",
    "test_a_rank_killed_on_the_other_host": "A rank killed on the other host ends all, with one line.",
    "test_one_bit_of_the_reference": "A flipped bit of the reference's weights on one rank is found, named, and nothing is saved.",
    "test_one_bit_of_the_batch": "A flipped bit of what one rank learns from is found, named, and nothing is saved.",
    "test_contradicting_launchers": "Variables of two launchers that contradict each other are refused by name.",
}
for its_kind, its_names in (
        (ranks_test.Strangers, ("test_a_rank_of_another_secret", "test_a_secret_that_others_can_read",
                                "test_one_who_writes_into_the_store", "test_they_hear_nobody_elsewhere",
                                "test_a_silent_one_holds_nobody_up")),
        (ranks_failing_test.Containers, ("test_an_old_rank_that_wakes_later_writes_nothing",
                                         "test_an_old_rank_that_wakes_beside_the_new_ones")),
        (ranks_test.Hosts, ("test_a_wire_that_breaks", "test_a_rank_killed_on_the_other_host")),
        (ranks_failing_test.Failing, ("test_one_bit_of_each_unit", "test_one_bit_of_the_reference", "test_one_bit_of_the_batch")),
        (ranks_test.Meeting, ("test_contradicting_launchers",))):
    for its_name in its_names:
        from_tests(its_kind, its_name)


def swallowed(at, count):
    @case(name=f"an all-reduce of MPI swallowed by a preloaded library, the {at}th")
    def _(folder):
        """A collective call that did nothing on one rank ends the run with 3 before anything is saved, or is the end of the
        process; never 0 with other weights on each rank."""
        if not jobs.have_mpi():
            raise Skipped("no Open MPI")
        library = preload(folder, LEFT_OUT)
        words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *resumed_runs.BASE,
                                  "run.steps=6", "ranks.silence_s=10", "ranks.timeout_s=30")
        done = jobs.run_mpi(count, "env", f"LD_PRELOAD={library}", f"CASE_AT={at}", *words)
        expect(done.codes[0] != 0, f"nobody noticed\n{done.text}")
        expect("all ranks end" in done.text, done.text)


swallowed(12, 2)
