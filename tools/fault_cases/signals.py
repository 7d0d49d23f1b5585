"""SIGTERM and Ctrl-C in every kind of wait: within two seconds a run says that it heard or has ended, and a second signal ends it."""

import fcntl
import os
import resource
import signal
import subprocess
import time

import jobs

from .harness import case, expect
from .judges import proxy
from .runs import (end_now, ended, goes_on, popen, preload, programs, says_within, start, start_cold, task_and_candidate, wait_for_step,
                   wait_until)

PATIENCE_S = 2
JUDGE = ["judge", *task_and_candidate(), "tasks.path=tests/gallery/tasks.yaml"]


def end_by(process, sent, *codes, patience=PATIENCE_S):
    """Within the patience. Its output."""
    process.send_signal(sent)
    since = time.monotonic()
    try:
        text = process.communicate(timeout=patience)[0]
    except subprocess.TimeoutExpired:
        raise AssertionError(f"not answered within {patience} s\n{end_now([process])}")
    expect(process.returncode in codes, f"{process.returncode} after {time.monotonic() - since:.1f} s\n{text}")
    return text


def locks(folder):
    """All cores of this machine are somebody else's, for as long as the result lives."""
    held = []
    for core in sorted(os.sched_getaffinity(0)):
        file = open(folder / f"tmp/temper-{os.geteuid()}-core-{core}.lock", "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("pid 1 (somebody else)")
        file.flush()
        held.append(file)
    return held


@case(needs=())
def a_core_that_another_holds(folder):
    """`temper judge` waits, says for whom after ten seconds, and SIGTERM ends it at once with 130."""
    held = locks(folder)
    process = popen(*JUDGE)
    says_within([process], "pid 1 (somebody else)", 20)
    end_by(process, signal.SIGTERM, 130)
    expect(held)


@case
def cores_that_another_takes_during_a_run(folder):
    """Judging waits; Ctrl-C is heard within 2 s, the second one ends the run at once, and the same command goes on."""
    run = start(folder / "run")
    wait_for_step(folder / "run", 2, run)
    held = locks_when_free(folder)
    time.sleep(2)
    run[0].send_signal(signal.SIGINT)
    says_within(run, "interrupted", PATIENCE_S)
    time.sleep(0.3)  # signals within a tenth of a second are one request
    end_by(run[0], signal.SIGINT, 130)
    for file in held:
        file.close()
    goes_on(folder / "run")


def locks_when_free(folder):
    """The same of locks that the run takes now and then."""
    held = []
    for path in sorted((folder / "tmp").glob("temper-*-core-*.lock")):
        if path.name.endswith("-turn.lock"):
            continue
        file = open(path, "r+")
        fcntl.flock(file, fcntl.LOCK_EX)
        held.append(file)
    return held


def in_a_start(name, text):
    @case(name=name, needs=())
    def _(folder):
        """A judge that does not start in time is not waited for once SIGTERM came: 130 or 3 within 2 s."""
        process = popen(*JUDGE, program=programs(folder, temper_broker=text))
        time.sleep(1.5)
        end_by(process, signal.SIGTERM, 130)


in_a_start("signal while a broker is silent at its start", "#!/bin/sh\nexec sleep 1000\n")
in_a_start("signal while a broker is stopped at its start", "#!/bin/sh\nkill -STOP $$\n")


@case
def signal_while_a_broker_is_silent_in_a_run(folder):
    """Ctrl-C is heard within 2 s, the second one ends the run at once, and the same command goes on."""
    program = programs(folder, temper_broker=proxy("time.sleep(1000) if number == 12 else None\nreturn [text]"))
    run = start(folder / "run", program_of=lambda rank: program)
    time.sleep(6)
    run[0].send_signal(signal.SIGINT)
    says_within(run, "interrupted", PATIENCE_S)
    time.sleep(0.3)  # signals within a tenth of a second are one request
    end_by(run[0], signal.SIGINT, 130)
    goes_on(folder / "run")


@case(limit=60)
def one_signal_while_a_broker_is_silent(folder):
    """Where no token and no verdict has come for 20 s since Ctrl-C, the step is given up, the one before saved: 130."""
    program = programs(folder, temper_broker=proxy("time.sleep(1000) if number == 12 else None\nreturn [text]"))
    run = start(folder / "run", program_of=lambda rank: program)
    time.sleep(6)
    end_by(run[0], signal.SIGINT, 130, patience=30)


@case(needs=())
def signal_in_the_meeting_of_ranks(folder):
    """Ranks that wait for one that never comes end within 2 s of SIGTERM."""
    ranks = start_cold(folder / "run", "ranks.start_s=100", count=3)
    ranks[2].kill()
    time.sleep(3)
    for rank in ranks[:2]:
        end_by(rank, signal.SIGTERM, 130, 3, -signal.SIGTERM)
    ranks[2].communicate()


def in_a_phase(name, words, seen, kept):
    @case(name=name, needs=())
    def _(folder):
        """SIGTERM ends it within 2 s with 130, and the same command begins again or goes on."""
        run = start_cold(folder / "run", *words)
        heard = says_within(run, seen, 40)
        time.sleep(0.5)
        text = heard + end_by(run[0], signal.SIGTERM, 130)
        expect(kept in text, text)


in_a_phase("signal while the corpus is judged", ["traces.conversations=5000", "tasks.names=[]"], "policy: new", "interrupted")
in_a_phase("signal in the cold start", ["cold_start.epochs=100000", "traces.conversations=24"], "corpus: ", "interrupted")


@case
def signal_in_an_evaluation(folder):
    """`temper eval` ends within 2 s with 130."""
    process = jobs.start_temper(1, f"model.path={jobs.taught()}", *jobs.TAUGHT, "eval.samples=5000", command="eval")[0]
    time.sleep(4)
    end_by(process, signal.SIGTERM, 130)


@case
def signal_in_the_evaluation_of_a_run(folder):
    """A run in an evaluation ends within 2 s; half an evaluation is none, and the next start makes it again."""
    run = start(folder / "run", "eval.before=true", "eval.samples=5000")
    time.sleep(4)
    end_by(run[0], signal.SIGTERM, 130)


SLOW_FSYNC = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int fsync(int fd) {
  char link[64], path[4097] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, 4096) < 0 || !strstr(path, "/checkpoints/")) path[0] = 0;
  struct timespec left = {path[0] ? 3 : 0, 0};
  while (nanosleep(&left, &left) != 0) continue;
  return ((__typeof__(&fsync))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""


@case
def signal_while_a_slow_disk_saves(folder):
    """With a disk that takes seconds for each fsync, the second SIGTERM ends the run at once, and a whole checkpoint or the
    beginning is found."""
    run = start(folder / "run", LD_PRELOAD=preload(folder, SLOW_FSYNC))
    wait_until(lambda: list((folder / "run/checkpoints").glob("*")), run, "a save", 60)
    run[0].send_signal(signal.SIGTERM)
    time.sleep(0.3)
    end_by(run[0], signal.SIGTERM, 130)
    goes_on(folder / "run")


def of_a_command(name, words, needs=(), more={}, wait_s=1.5):
    @case(name=name, needs=needs)
    def _(folder):
        """A command that waits for its input, or has long to go, ends within 2 s of SIGTERM."""
        given = [str(word() if callable(word) else word).replace("OUT", str(folder / "out")) for word in words]
        process = popen(*given, **more)
        time.sleep(wait_s)
        if process.poll() is not None:
            raise AssertionError(f"ended too early: {process.communicate()[0]}")
        end_by(process, signal.SIGTERM, 130, -signal.SIGTERM, 0)


of_a_command("signal while standard input is silent", ["judge", "scale_rows_relu", "-"], more={"stdin": subprocess.PIPE})
of_a_command("signal while tasks are admitted", ["judge", "--admit"])
of_a_command("signal while a policy generates",
             ["generate", "y", "--model", jobs.taught, "--max-tokens", "600", "--samples", "20000"], needs=(jobs.taught,))
of_a_command("signal in a benchmark of training", ["bench", "train", "--seconds", "60", "--config", "configs/quickstart.yaml"], wait_s=3)
of_a_command("signal in a benchmark of the judge", ["bench", "judge", "--count", "5000"], wait_s=3)


@case
def signal_while_conversations_are_collected(folder):
    """`temper collect` ends within 2 s with 130 and leaves no file that looks whole."""
    process = jobs.start_by_hand(1, lambda rank: jobs.temper_words(
        f"model.path={jobs.taught()}", *jobs.TAUGHT, "--out", folder / "out.jsonl", "--samples", "5000", command="collect"))[0]
    time.sleep(4)
    end_by(process, signal.SIGTERM, 130)
    expect(not (folder / "out.jsonl").exists(), "a file was left")


@case
def signal_while_a_run_is_watched(folder):
    """`temper report --watch` ends within 2 s of Ctrl-C."""
    ended(start(folder / "run", "run.steps=2"), 0)
    (folder / "run/finished.json").unlink()
    process = popen("report", "--watch", folder / "run")
    time.sleep(2)
    if process.poll() is None:
        end_by(process, signal.SIGINT, 0, 130)
    else:
        process.communicate()


@case
def signals_blocked_and_children_ignored_by_the_parent(folder):
    """Whoever starts the program may have blocked SIGTERM and ignored SIGCHLD: the run judges all the same, and SIGTERM ends it."""
    def odd():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})

    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT,
                              "run.steps=100000", "run.overwrite=false")
    process = popen(*words[1:], preexec_fn=odd)
    wait_for_step(folder / "run", 3, [process])
    process.send_signal(signal.SIGTERM)
    try:
        text = process.communicate(timeout=15)[0]
    except subprocess.TimeoutExpired:
        raise AssertionError(f"SIGTERM is not heard\n{end_now([process])}")
    expect(process.returncode == 130, f"{process.returncode} {text}")


@case
def processor_time_runs_out(folder):
    """SIGXCPU of a limit on processor time ends the run; nothing is left, and the same command goes on."""
    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT,
                              "run.steps=100000", "run.overwrite=false", "checkpoint.every=2", "rollout.samples_per_task=4",
                              "optimizer.lr=2e-4", "optimizer.schedule=linear", "optimizer.warmup=0.1")
    process = popen(*words[1:], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (7, 9)))
    text = process.communicate(timeout=60)[0]
    expect(process.returncode != 0, text)
    goes_on(folder / "run")
