"""Runs that are ended somewhere and go on: nothing is lost, and figures are those of a run that was not ended."""

import functools
import random
import signal
import subprocess
import time

import jobs
import resumed_runs

from .harness import case, expect
from .runs import ended, goes_on, lines_of, pending, preload, start, wait_for_step, wait_until


def killed_in(place, name, quick):
    @case(name=f"run killed in {name}", quick=quick)
    def _(folder):
        """The same command goes on from the newest checkpoint, or begins again before the first one, and no step is missing."""
        ended(start(folder / "run", TEMPER_FAULT=place), -9)
        goes_on(folder / "run")


for its_name, its_place, is_quick in (
        ("a rollout", "rollout:kill@5", True), ("judging", "judging:kill@5", True), ("an update", "update:kill@5", True),
        ("the record of a step", "save:kill@6", False), ("the background save", "share:kill@2", True)):
    killed_in(its_place, its_name, is_quick)


@case(quick=True)
def interrupted_once(folder):
    """Ctrl-C ends with 130 after the step, with a checkpoint of it, and the same command goes on."""
    run = start(folder / "run")
    wait_for_step(folder / "run", 3, run)
    run[0].send_signal(signal.SIGINT)
    ended(run, 130, said="interrupted after step")
    goes_on(folder / "run")


@case(quick=True)
def interrupted_twice_in_a_rollout_that_hangs(folder):
    """The second Ctrl-C ends the run at once, and the same command goes on."""
    run = start(folder / "run", TEMPER_FAULT="rollout:hang@4")
    wait_for_step(folder / "run", 3, run)
    run[0].send_signal(signal.SIGINT)
    wait_until(lambda: not pending(run[0].pid, signal.SIGINT), run, "the first Ctrl-C was heard")
    time.sleep(0.3)  # signals within a tenth of a second are one request
    run[0].send_signal(signal.SIGINT)
    ended(run, 130)
    goes_on(folder / "run")


# ------------------------------------------------------------------------------------- ended at a system call of the run's directory

# Counts calls of each kind that name something in $CASE_DIR; at the $CASE_AT-th of $CASE_CALL the process is killed, and
# a whole life leaves its counts in $CASE_COUNTS.
AT_A_CALL = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
enum { kRename, kFsync, kWrite, kMkdir, kUnlink, kTruncate, kOpen, kKinds };
static const char* const names[kKinds] = {"rename", "fsync", "write", "mkdir", "unlink", "truncate", "open"};
static long came[kKinds];
static int inside(const char* path) {
  const char* folder = getenv("CASE_DIR");
  return path && folder && strncmp(path, folder, strlen(folder)) == 0;
}
static int of_fd(int fd) {
  char link[64], path[PATH_MAX + 1];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, PATH_MAX);
  path[n < 0 ? 0 : n] = 0;
  return inside(path);
}
static void come(int kind, int mine) {
  if (!mine) return;
  const char* call = getenv("CASE_CALL");
  const char* at = getenv("CASE_AT");
  long count = __sync_add_and_fetch(&came[kind], 1);
  if (call && at && strcmp(call, names[kind]) == 0 && count == atol(at)) kill(getpid(), SIGKILL);
}
__attribute__((destructor)) static void leave(void) {
  const char* path = getenv("CASE_COUNTS");
  FILE* file = path && came[kFsync] ? fopen(path, "w") : NULL;
  for (int i = 0; file && i < kKinds; ++i) fprintf(file, "%s %ld\n", names[i], came[i]);
  if (file) fclose(file);
}
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
int rename(const char* a, const char* b) { come(kRename, inside(b)); return NEXT(rename)(a, b); }
int renameat2(int x, const char* a, int y, const char* b, unsigned f) { come(kRename, inside(b)); return NEXT(renameat2)(x, a, y, b, f); }
int fsync(int fd) { come(kFsync, of_fd(fd)); return NEXT(fsync)(fd); }
ssize_t write(int fd, const void* p, size_t n) { come(kWrite, of_fd(fd)); return NEXT(write)(fd, p, n); }
ssize_t pwrite(int fd, const void* p, size_t n, off_t at) { come(kWrite, of_fd(fd)); return NEXT(pwrite)(fd, p, n, at); }
ssize_t pwrite64(int fd, const void* p, size_t n, off64_t at) { come(kWrite, of_fd(fd)); return NEXT(pwrite64)(fd, p, n, at); }
int mkdir(const char* path, mode_t mode) { come(kMkdir, inside(path)); return NEXT(mkdir)(path, mode); }
int unlink(const char* path) { come(kUnlink, inside(path)); return NEXT(unlink)(path); }
int unlinkat(int fd, const char* path, int flags) { come(kUnlink, inside(path) || of_fd(fd)); return NEXT(unlinkat)(fd, path, flags); }
int remove(const char* path) { come(kUnlink, inside(path)); return NEXT(remove)(path); }
int rmdir(const char* path) { come(kUnlink, inside(path)); return NEXT(rmdir)(path); }
int truncate(const char* path, off_t size) { come(kTruncate, inside(path)); return NEXT(truncate)(path, size); }
int ftruncate(int fd, off_t size) { come(kTruncate, of_fd(fd)); return NEXT(ftruncate)(fd, size); }
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  come(kOpen, (flags & O_CREAT) != 0 && inside(path));
  return NEXT(open)(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  come(kOpen, (flags & O_CREAT) != 0 && inside(path));
  return NEXT(open64)(path, flags, mode);
}
"""


def one_life(directory, library, words, **environment):
    return jobs.start_temper(1, f"run.dir={directory}", f"model.path={jobs.taught()}", *resumed_runs.BASE,
                             "checkpoint.keep=1", *words, of_rank=lambda rank: {"LD_PRELOAD": library, "CASE_DIR": str(directory)} | environment)


@functools.cache
def calls_of_a_life():
    """kind → how many such calls a whole run makes in its directory."""
    folder = jobs.WORK / "calls"
    folder.mkdir()
    ended(one_life(folder / "run", preload(folder, AT_A_CALL), [resumed_runs.cache()], CASE_COUNTS=str(folder / "counts")), 0)
    return {name: int(count) for name, count in (line.split() for line in (folder / "counts").read_text().splitlines())}


def ended_at(kind):
    @case(name=f"ended at a system call: {kind}", needs=(jobs.taught, resumed_runs.uninterrupted, calls_of_a_life))
    def _(folder):
        """Wherever the process is killed at such a call in the run's directory, the same command takes the run to its end, and
        figures, trajectories and weights are, to the bit, those of a run that was not ended."""
        count, library = calls_of_a_life()[kind], preload(folder, AT_A_CALL)
        expect(count > 1, f"a run makes {count} such calls")
        chosen = random.Random(kind)
        for number, place in enumerate({chosen.randint(1, count // 2), chosen.randint(count // 2 + 1, max(2, count * 9 // 10))}):
            words = [resumed_runs.cache()]
            directory = folder / f"run{number}"
            ended(one_life(directory, library, words, CASE_CALL=kind, CASE_AT=str(place)), -9)
            ended(one_life(directory, library, words), 0)
            resumed_runs.Resume().expect_like_uninterrupted(directory)


for its_kind in ("rename", "fsync", "write", "mkdir", "unlink", "open"):
    ended_at(its_kind)


@case(needs=(jobs.taught, resumed_runs.uninterrupted))
def killed_again_and_again(folder):
    """A run that is killed within a second or two, and started again each time, comes to its end with the figures of one that
    was not."""
    words, chosen, lives = [resumed_runs.cache()], random.Random(11), 0
    while not (folder / "run/finished.json").exists():
        run = jobs.start_temper(1, f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *resumed_runs.BASE,
                                "checkpoint.every=1", *words)
        lives += 1
        try:
            run[0].wait(chosen.uniform(0.3, 0.9) * 1.1**lives)
        except subprocess.TimeoutExpired:
            run[0].kill()
        run[0].communicate()
        expect(lives < 40, "it never comes to its end")
    expect(lives > 2, f"{lives} lives are no test")
    resumed_runs.Resume().expect_like_uninterrupted(folder / "run")


@case(quick=True)
def half_a_line_at_the_end_of_the_metrics(folder):
    """It is cut off by the next start, and every line is whole."""
    ended(start(folder / "run", TEMPER_FAULT="rollout:kill@6"), -9)
    with open(folder / "run/metrics.jsonl", "a") as file:
        file.write('{"actor/entropy": 0.')
    goes_on(folder / "run")
    expect(all("step" in line for line in lines_of(folder / "run")))


@case
def half_a_line_at_the_end_of_the_journal(folder):
    """A verdict whose line was cut short is measured anew; the others are kept, and the run goes on."""
    ended(start(folder / "run", TEMPER_FAULT="rollout:kill@6"), -9)
    journal = folder / "run/verdicts/rank_0.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    goes_on(folder / "run")
