"""Odd surroundings: masks, locales, clocks, limits, descriptors, folders and variables that are not as they usually are."""

import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import jobs

from .harness import LIBC, Skipped, case, expect
from .runs import Disk, ended, goes_on, lines_of, need_root, popen, preload, programs, put, start, task_and_candidate, temper

JUDGE = ["judge", *task_and_candidate(), "tasks.path=tests/gallery/tasks.yaml"]


def with_a_mask(mask):
    @case(name=f"umask {mask:03o}", needs=())
    def _(folder):
        """A right candidate is a PASS and a wrong one what it is: what the mask takes away is never the candidate's fault."""
        temper(*JUDGE, code=0, said="PASS", umask=mask)
        wrong = jobs.ROOT / "tests/gallery/cpp/add_backwards.cc"
        first = temper("judge", "add", wrong, JUDGE[-1])
        second = temper("judge", "add", wrong, JUDGE[-1], umask=mask)
        expect(first.code == second.code and first.text.split()[0] == second.text.split()[0], f"{first.text}{second.text}")


with_a_mask(0o077)
with_a_mask(0o777)


@case
def umask_777_in_a_run(folder):
    """A run whose files nobody may read goes on and judges as ever, or is refused at its start with the reason."""
    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT, "run.steps=2")
    process = popen(*words[1:], umask=0o777)
    text = process.communicate(timeout=60)[0]
    if process.returncode == 0:
        expect(not [line for line in lines_of(folder / "run") if line.get("env/verdict/INFRA")], "INFRA")
        expect(any(line.get("env/correct", 0) > 0 for line in lines_of(folder / "run")), "nothing right")
    else:
        expect(process.returncode in (2, 3) and "umask" in text, f"{process.returncode} {text}")


@case
def standard_descriptors_closed(folder):
    """With standard input, output and error closed the run goes to its end, and its metrics are as ever."""
    def close():
        for fd in range(3):
            os.close(fd)

    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT, "run.steps=2")
    process = popen(*words[1:], preexec_fn=close)
    process.communicate(timeout=60)
    expect(process.returncode == 0, process.returncode)
    expect([line["step"] for line in lines_of(folder / "run") if "actor/pg_loss" in line] == [1, 2])
    expect((folder / "run/config.yaml").read_text().startswith("run:"), "something else was written into the config")


LOCALE = r"""
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void set(void) {
  if (!setlocale(LC_ALL, "de_DE.UTF-8") || localeconv()->decimal_point[0] != ',') exit(99);
}
"""


@case
def a_preloaded_library_that_sets_the_locale(folder):
    """With decimal commas set inside the process, every number in every file and message keeps its point."""
    places = folder / "locales"
    places.mkdir()
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", places / "de_DE.UTF-8"], capture_output=True)
    if not (places / "de_DE.UTF-8").exists():
        raise Skipped(f"no de_DE locale can be made: {made.stderr.decode()[:200]}")
    odd = {"LD_PRELOAD": preload(folder, LOCALE), "LOCPATH": str(places)}
    if temper("--help", environment=odd).code == 99:
        raise Skipped("the locale cannot be set here")
    text = ended(start(folder / "run", "run.steps=3", **odd), 0)
    expect("0,0" not in text.replace("0, 0", ""), text)
    expect([line["step"] for line in lines_of(folder / "run") if "actor/pg_loss" in line] == [1, 2, 3])
    expect("lr: 0.0002" in (folder / "run/config.yaml").read_text().replace("2e-4", "0.0002").replace("2.0e-4", "0.0002").replace(
        "2e-04", "0.0002"), (folder / "run/config.yaml").read_text())
    temper(*JUDGE, code=0, environment=odd)
    goes_on(folder / "run")


CLOCK = r"""
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
  static long calls;
  long done = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += (++calls % 3 - 1) * 31536000L;
  return (int)done;
}
"""


@case
def clock_that_jumps_by_a_year_both_ways(folder):
    """What is timed is timed by a clock that does not jump: the run goes to its end, and no time is negative."""
    ended(start(folder / "run", "run.steps=4", LD_PRELOAD=preload(folder, CLOCK)), 0)
    for line in lines_of(folder / "run"):
        for key, value in line.items():
            expect(not key.startswith("timing_s/") or 0 <= value < 1000, f"{key} {value}")


@case(quick=True)
def weights_that_are_not_finite(folder):
    """With a learning rate of 1e30 updates are skipped and counted, and after so many in a row the run ends and says so."""
    run = start(folder / "run", "run.steps=4", "optimizer.lr=1e30")
    done = jobs.wait_all(run)
    skipped = sum(line.get("actor/skipped_updates", 0) for line in lines_of(folder / "run"))
    expect(done.codes[0] in (0, 3) and skipped > 0, f"{done.codes} {skipped}\n{done.text}")


@case
def no_compiler(folder):
    """The start ends with 3 and says which compiler is missing, or finds it by its absolute path."""
    done = jobs.wait_all(start(folder / "run", PATH="/nowhere", CXX=""), 60)
    expect(done.codes == [0] or done.codes == [3] and "no C++ compiler" in done.text, f"{done.codes} {done.text}")


@case(needs=())
def a_binary_moved_away_from_its_helpers(folder):
    """Exit 3 with the path of the helper that is missing; a symbolic link to the program works."""
    put(jobs.BUILD / "temper", folder / "temper")
    temper(*JUDGE, program=folder / "temper", code=3, said="temper-broker")
    (folder / "link").symlink_to(jobs.BUILD / "temper")
    temper(*JUDGE, program=folder / "link", code=0)


@case(needs=())
def a_binary_deleted_while_it_runs(folder):
    """A program that was replaced on the disk under a running one says what it cannot start, or goes on; it does not crash."""
    program = programs(folder)
    process = popen("judge", "scale_rows_relu", "-", program=program, stdin=subprocess.PIPE)
    time.sleep(1)
    program.unlink()
    text = process.communicate("extern \"C\" void kernel() {}", timeout=30)[0]
    expect(process.returncode in (1, 3), f"{process.returncode} {text}")


def with_tmpdir(name, value, holds, codes):
    def body(folder):
        place = value(folder)
        done = temper(*JUDGE, environment={"TMPDIR": place})
        expect(done.code in codes, f"{done.code} {done.text}")
        expect(done.code == 0 or str(place) in done.text, done.text)
        expect("FAIL_" not in done.text, done.text)
    body.__doc__ = holds
    case(name=name, needs=())(body)


def full(folder):
    disk = Disk(folder / "disk", "1m")
    disk.fill()
    return disk.path


def read_only(folder):
    disk = Disk(folder / "disk", "1m")
    disk.remount("ro")
    return disk.path


with_tmpdir("TMPDIR does not exist", lambda folder: folder / "nowhere", "Exit 3 with the path; the candidate is not blamed.", (3,))
with_tmpdir("TMPDIR is a file", lambda folder: [(folder / "file").write_text("x"), folder / "file"][1],
            "Exit 3 with the path; the candidate is not blamed.", (3,))
with_tmpdir("TMPDIR is full", full, "The verdict is right, or exit 3 with what is full; the candidate is not blamed.", (0, 3))
with_tmpdir("TMPDIR is read-only", read_only, "The verdict is right, or exit 3 with the path; the candidate is not blamed.", (0, 3))


@case(needs=())
def home_missing(folder):
    """Without HOME, or with one that does not exist or is read-only, one process judges as ever."""
    temper(*JUDGE, code=0, environment={"HOME": folder / "nowhere"})
    environment = jobs.plain_environment()
    environment.pop("HOME")
    done = subprocess.run([jobs.BUILD / "temper", *map(str, JUDGE)], env=environment, cwd=jobs.ROOT, capture_output=True,
                          text=True, timeout=60)
    expect(done.returncode == 0, done.stdout + done.stderr)


@case(needs=())
def an_empty_environment(folder):
    """With no variable at all the program judges, or ends with 3 and says what it misses."""
    done = subprocess.run([jobs.BUILD / "temper", *map(str, JUDGE)], env={}, cwd=jobs.ROOT, capture_output=True, text=True,
                          timeout=60)
    expect(done.returncode == 0 or done.returncode == 3 and "compiler" in done.stderr, done.stdout + done.stderr)
    for path in Path("/tmp").glob(f"temper-{os.geteuid()}-core-*.lock"):
        path.unlink(missing_ok=True)


@case(needs=())
def working_directory_deleted(folder):
    """Exit 2 or 3 with a line that says so, not a crash."""
    (folder / "here").mkdir()
    process = popen("judge", "add", jobs.ROOT / "tests/gallery/cpp/add_plain.cc",
                    f"tasks.path={jobs.ROOT / 'tests/gallery/tasks.yaml'}", cwd=folder / "here",
                    preexec_fn=lambda: os.rmdir(folder / "here"))
    text = process.communicate(timeout=60)[0]
    expect(process.returncode in (0, 2, 3) and len(text) < 1000, f"{process.returncode} {text}")


@case(needs=())
def started_from_another_folder(folder):
    """The tasks are found beside the program; a path that names nothing is refused with its name."""
    answer = folder / "answer.md"
    answer.write_text("no code")
    temper("judge", "scale_rows_relu", answer, cwd=folder, code=1, said="FAIL_PARSE")
    temper("judge", "scale_rows_relu", answer, "tasks.path=no/tasks", cwd=folder, code=2, said="no/tasks")


def limited(name, kind, amount, holds, codes=(0, 3), user=None):
    def body(folder):
        more = {}
        if user:
            need_root()
            (folder / "tmp").chmod(0o777)
            for path in folder.parents:
                if "temper_faults_" in str(path):
                    path.chmod(0o755)
            folder.chmod(0o755)
            more = {"user": user, "group": user, "extra_groups": []}
        process = popen(*JUDGE, preexec_fn=lambda: resource.setrlimit(kind, (amount, amount)), **more)
        text = process.communicate(timeout=60)[0]
        expect(process.returncode in codes, f"{process.returncode} {text}")
        expect(process.returncode == 0 or len(text.strip()) > 10, "not a word")
        expect("FAIL_" not in text and "HACK" not in text, text)
        for path in (folder / "tmp").glob("temper-*"):
            path.unlink()
    body.__doc__ = holds
    case(name=name, needs=())(body)


limited("little address space", resource.RLIMIT_AS, 3 << 29,
        "With 1.5 GiB of address space the verdict is right, or exit 3, or 127 of the loader, says that memory is short; the candidate is "
        "not blamed.", (0, 3, 127))
limited("very little address space", resource.RLIMIT_AS, 1 << 28,
        "With 256 MiB the loader may fail (127); else exit 3 says that memory is short. No candidate is blamed.", (0, 3, 127, 126))
limited("24 descriptors", resource.RLIMIT_NOFILE, 24,
        "With so few descriptors the verdict is right, or exit 3 says that too many files are open; the candidate is not blamed.")
limited("10 descriptors", resource.RLIMIT_NOFILE, 10,
        "With so few descriptors exit 3 says that too many files are open; the candidate is not blamed.", (0, 3, 127))
limited("no core for a process more", resource.RLIMIT_NPROC, 1,
        "An ordinary user who may start no process hears why (3); the candidate is not blamed.", (3,), user=65533)
limited("a small stack", resource.RLIMIT_STACK, 1 << 18, "With a stack of 256 KiB the verdict is right, or exit 3 says what is short.")
limited("nothing may be locked in memory", resource.RLIMIT_MEMLOCK, 0, "The verdict is right.", (0,))


@case(needs=())
def no_proc(folder):
    """Without /proc the program ends with 3 and names it; it does not crash."""
    if LIBC.mount(b"none", b"/proc", b"tmpfs", 0, None) != 0:
        raise Skipped("no mount here")
    try:
        process = popen(*JUDGE)
        text = process.communicate(timeout=60)[0]
    finally:
        LIBC.umount2(b"/proc", 2)
    expect(process.returncode == 3 and "/proc" in text, f"{process.returncode} {text}")


@case(needs=())
def no_shared_memory(folder):
    """With /dev/shm full or read-only a verdict is right, or exit 3 says what is missing; no candidate is blamed."""
    if LIBC.mount(b"none", b"/dev/shm", b"tmpfs", 0, b"size=4k") != 0:
        raise Skipped("no mount here")
    done = temper(*JUDGE)
    expect(done.code in (0, 3) and "FAIL_" not in done.text, f"{done.code} {done.text}")


@case
def a_run_in_a_folder_with_an_odd_name(folder):
    """Spaces, quotes, letters of other scripts and a leading dash in run.dir are a name like any other."""
    place = folder / "-two words 'и' \"x\" $(echo) %s {}"
    ended(start(place, "run.steps=2"), 0)
    temper("show", place, "1", code=0)
    temper("report", place, code=0)
    temper("export", place / "checkpoints/final", folder / "out", code=0)


@case
def a_very_long_name_of_a_folder(folder):
    """Names at the system's limit are refused with the system's words, or work."""
    place = folder / ("x" * 250) / ("y" * 250)
    done = jobs.wait_all(start(place, "run.steps=1"), 60)
    expect(done.codes[0] in (0, 2, 3), f"{done.codes} {done.text}")
    done = jobs.wait_all(start(folder / ("z" * 300), "run.steps=1"), 60)
    expect(done.codes[0] in (2, 3) and "File name too long" in done.text, f"{done.codes} {done.text}")


@case(needs=())
def time_zones_and_languages(folder):
    """TZ, LANG and LC_ALL that name nothing change nothing and say nothing."""
    odd = {"TZ": "Nowhere/City", "LANG": "xx_YY.UTF-8", "LC_ALL": "zz", "LANGUAGE": "de"}
    done = temper(*JUDGE, code=0, environment=odd)
    expect("locale" not in done.text, done.text)


@case(needs=())
def user_without_an_entry(folder):
    """A user that no list of users knows (containers with --user 1234) judges as ever where user namespaces are allowed."""
    need_root()
    for path in [folder, *folder.parents]:
        if "temper_faults_" in str(path):
            path.chmod(0o755)
    (folder / "tmp").chmod(0o777)
    done = subprocess.run(["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", jobs.BUILD / "temper", *map(str, JUDGE)],
                          env=jobs.plain_environment(HOME="/nonexistent"), cwd=jobs.ROOT, capture_output=True, text=True,
                          timeout=60)
    expect(done.returncode == 0 or done.returncode == 3 and "namespaces" in done.stdout + done.stderr,
           f"{done.returncode} {done.stdout}{done.stderr}")
    for path in (folder / "tmp").glob("temper-*"):
        path.unlink()


@case
def started_from_a_shell_that_ends(folder):
    """A run whose terminal goes away (SIGHUP, ignored under nohup) goes on to its end."""
    words = jobs.temper_words(f"run.dir={folder / 'run'}", f"model.path={jobs.taught()}", *jobs.TAUGHT, "run.steps=6")
    process = popen(*words[1:], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(2)
    process.send_signal(signal.SIGHUP)
    text = process.communicate(timeout=60)[0]
    expect(process.returncode == 0, f"{process.returncode} {text}")


@case
def a_gpu_that_is_not_there(folder):
    """model.device=cuda where there is none is refused with 2 and the reason, with a bad CUDA_VISIBLE_DEVICES too."""
    for devices in ("", "7", "nonsense"):
        ended(start(folder / "run", "model.device=cuda", CUDA_VISIBLE_DEVICES=devices), 2, said="model.device: cuda")


@case(needs=())
def libraries_of_another_kind_first(folder):
    """LD_LIBRARY_PATH with a libfmt.so that is no library: the loader's words and a code, not a crash; a folder of nothing: as ever."""
    (folder / "libs").mkdir()
    temper(*JUDGE, code=0, environment={"LD_LIBRARY_PATH": folder / "libs"})
    (folder / "libs/libfmt.so.9").write_text("no library")
    done = temper(*JUDGE, environment={"LD_LIBRARY_PATH": folder / "libs"})
    expect(done.code in (0, 3, 127), f"{done.code} {done.text}")
    shutil.rmtree(folder / "libs")
