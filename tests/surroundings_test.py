"""Runs the built programs in odd surroundings: python3 tests/surroundings_test.py build

Creation masks, another locale, closed descriptors, full disks: what surrounds the program decides nothing about what it does.
"""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from pathlib import Path

import cli_test
from cli_test import ROOT, Program, temper, tiny_config
from patience import PATIENCE_S, comes_true

BUILD = Path()
GALLERY = ROOT / "tests/gallery"
F_SETPIPE_SZ = 1031

# A profiler's or an MPI module's manners: a locale for the whole process, when it is loaded, with each thread and each file.
PRELOAD = """
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <locale>

static pid_t loaded_in = 0;

static void set() {
  if (getpid() != loaded_in) return;  // a child between fork and exec has other things to do
  setlocale(LC_ALL, "de_DE.UTF-8");
  char text[16];
  std::snprintf(text, sizeof text, "%.1f", 0.5);
  if (text[1] != ',') _exit(99);
}

__attribute__((constructor)) static void at_load() {
  loaded_in = getpid();
  std::locale::global(std::locale("de_DE.UTF-8"));
  set();
}

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* data) {
  set();
  static auto next = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, body, data);
}

extern "C" int open(const char* path, int flags, ...) {
  set();
  static auto next = reinterpret_cast<decltype(&open)>(dlsym(RTLD_NEXT, "open"));
  va_list more;
  va_start(more, flags);
  const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
  va_end(more);
  return next(path, flags, mode);
}
"""


def judge(name, task="add", folder="cpp", **more):
    """The verdict of a candidate of the gallery."""
    done = subprocess.run([cli_test.TEMPER, "judge", task, GALLERY / folder / name, "--json", f"tasks.path={GALLERY}/tasks.yaml"],
                          capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, **more)
    return json.loads(done.stdout), done


class BesideCandidates(Program):
    """Programs that candidates are loaded into."""

    NEEDED = {"linux-vdso", "ld-linux-x86-64", "libc", "libm", "libgcc_s", "libstdc++", "libgomp", "libfmt", "libseccomp"}
    SANITIZERS = {"libasan", "libubsan", "libtsan", "libdl", "libpthread", "librt"}

    def test_they_load_no_library_that_neither_needs(self):
        programs = [BUILD / name for name in ("temper-runner", "temper-recorder") if (BUILD / name).exists()]
        self.assertIn(BUILD / "temper-runner", programs)
        for program in programs:
            with self.subTest(program=program.name):
                said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
                names = {Path(line.split()[0]).name.split(".so")[0] for line in said.splitlines()}
                self.assertIn("libc", names)
                self.assertEqual(names - self.NEEDED - self.SANITIZERS, set())


class Masks(Program):
    def test_what_is_right_passes_and_what_is_wrong_fails_as_ever(self):
        for mask in (0o022, 0o077, 0o777):
            for name, kind in (("add_plain.cc", "PASS"), ("add_openmp.cc", "PASS"), ("abort.cc", "FAIL_RUNTIME")):
                with self.subTest(mask=oct(mask), name=name):
                    verdict, done = judge(name, umask=mask)
                    self.assertEqual(verdict["kind"], kind, done.stdout + done.stderr)

    def test_plans_of_cuda_candidates(self):
        if not (BUILD / "temper-recorder").exists():
            self.skipTest("built without a CUDA compiler")
        candidate = GALLERY / "cuda/add_hinted_loads.cu"
        for mask in (0o022, 0o777):
            with self.subTest(mask=oct(mask)):
                done = subprocess.run([cli_test.TEMPER, "judge", "--plan", "gpu_add", candidate, f"tasks.path={GALLERY}/cuda/tasks.yaml"],
                                      capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, umask=mask)
                self.check(done, 0, "compile")

    def test_a_run_keeps_its_files_to_its_user(self):
        run = cli_test.WORK / "masked"
        done = subprocess.run([cli_test.TEMPER, "train", tiny_config(), f"run.dir={run}", "eval.before=false"],
                              capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, umask=0o777)
        self.check(done, 0)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertTrue(any(line.get("env/verdict/PASS") or line.get("env/verdict/FAIL_PARSE") for line in lines))
        self.assertFalse([line for line in lines if line.get("env/verdict/INFRA")])
        modes = {path.stat().st_mode & 0o777 for path in run.rglob("*") if path.is_file()}
        self.assertEqual(modes, {0o600})


class Locale(Program):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("localedef"):
            raise unittest.SkipTest("no localedef to make a locale with")
        locales = cli_test.WORK / "locales"
        locales.mkdir()
        made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", locales / "de_DE.UTF-8"], capture_output=True, text=True)
        if not (locales / "de_DE.UTF-8/LC_NUMERIC").exists():
            raise AssertionError(made.stderr)
        source, library = cli_test.WORK / "locale.cc", cli_test.WORK / "locale.so"
        source.write_text(PRELOAD)
        subprocess.run(["g++", "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
        cls.env = {**os.environ, "LOCPATH": str(locales), "LD_PRELOAD": str(library)}
        cls.dirs = [cli_test.WORK / "with_point" / "run", cli_test.WORK / "with_comma" / "run"]
        for directory, env in zip(cls.dirs, (None, cls.env)):
            done = temper("train", tiny_config(), f"run.dir={directory}", f"env.cache={cli_test.WORK / 'verdicts.db'}", env=env)
            if done.returncode != 0:
                raise AssertionError(done.stdout + done.stderr)
        temper("report", cls.dirs[0])
        temper("report", cls.dirs[1], env=cls.env)

    def alike(self, text):
        return text.replace("with_comma", "with_point")

    def test_a_run_writes_the_same(self):
        point, comma = self.dirs
        self.assertEqual(self.alike((comma / "config.yaml").read_text()), (point / "config.yaml").read_text())
        timed = ("start", "timing_s/", "perf/", "throughput/", "cold_start/throughput", "cold_start/seconds", "env/cached")
        figures = [[{k: v for k, v in json.loads(line).items() if not k.startswith(timed)}
                    for line in (run / "metrics.jsonl").read_text().splitlines()] for run in self.dirs]
        self.assertEqual(*figures)
        for name in ("model.safetensors", "config.json", "tokenizer.model"):
            self.assertEqual((comma / "checkpoints/final" / name).read_bytes(), (point / "checkpoints/final" / name).read_bytes())

    def test_a_report_shows_the_same(self):
        def charts(run):
            page = (run / "report.html").read_text()
            data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
            return [chart for chart in data["charts"] if chart["section"] != "Speed" and not chart["metric"].endswith("throughput")]
        self.assertEqual(charts(self.dirs[1]), charts(self.dirs[0]))

    def test_what_is_printed_is_the_same(self):
        for words in (("options", "--markdown"), ("train", tiny_config(), "--dry-run", "optimizer.lr=3e-5"), ("judge", "--tasks")):
            with self.subTest(words[0]):
                there, here = temper(*words, env=self.env), temper(*words)
                self.check(there, 0)
                self.assertEqual(there.stdout, here.stdout)

    def test_verdicts_are_numbers(self):
        verdict, done = judge("add_plain.cc", env=self.env)
        self.assertEqual(verdict["kind"], "PASS", done.stdout)
        self.assertGreater(verdict["speedup"], 0)

    def test_tasks_with_points_in_their_numbers(self):
        path = cli_test.WORK / "points.yaml"
        path.write_text("""
tasks:
  - name: halves
    reference: x * 0.5
    inputs: {x: {shape: [n, m], uniform: [0.25, 1.75]}}
    outputs: {y: [n, m]}
    check: [{n: 5, m: 33}, {n: 33, m: 2}, {n: 1, m: 129}]
    timed: {n: 1024, m: 2048}
    tolerance: 2.5e-5
    flops: 2.5 * n * m
    max_speedup: 12.5
""")
        there, here = (temper("judge", "--tasks", f"tasks.path={path}", env=env) for env in (self.env, None))
        self.check(here, 0, "0.25", "1.75")
        self.assertEqual(there.stdout, here.stdout)
        there, here = (json.loads(self.check(temper("judge", "--admit", f"tasks.path={path}", "--json", env=env), 0))
                       for env in (self.env, None))
        self.assertEqual([{k: v for k, v in row.items() if k != "eager_us"} for row in there],
                         [{k: v for k, v in row.items() if k != "eager_us"} for row in here])


class Descriptors(Program):
    def test_closed_ones_change_nothing(self):
        run = cli_test.WORK / "closed"
        done = subprocess.run(["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', cli_test.TEMPER, "train", tiny_config(), f"run.dir={run}"],
                              capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S)
        self.check(done, 0)
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["step"] for line in lines if "actor/pg_loss" in line], [1, 2])
        self.assertTrue((run / "finished.json").exists())
        self.assertIn("step   2/2", (run / "log/rank_0.txt").read_text())

    def test_each_of_them(self):
        for closed in ("<&-", ">&-", "2>&-"):
            with self.subTest(closed):
                done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {closed}', cli_test.TEMPER, "judge", "add", GALLERY / "cpp/add_plain.cc",
                                       "--json", f"tasks.path={GALLERY}/tasks.yaml"], capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S)
                self.check(done, 0)
                if closed != ">&-":
                    self.assertEqual(json.loads(done.stdout)["kind"], "PASS")


def unread(pipe):
    """Bytes that wait in it."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


class UnreadOutput(Program):
    """A pipe of one page behind standard output and standard error."""

    STEPS = 60  # more lines than a page holds

    def start(self, name, *words):
        self.run_dir = cli_test.WORK / name
        self.process = subprocess.Popen([cli_test.TEMPER, "train", tiny_config(), f"run.dir={self.run_dir}", "eval.before=false",
                                         "checkpoint.every=0", *words],
                                        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        fcntl.fcntl(self.process.stdout.fileno(), F_SETPIPE_SZ, 4096)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.kill)

    def wait_for(self, name):
        self.assertTrue(comes_true(lambda: list(self.run_dir.glob(name)) or self.process.poll() is not None), "the run stands still")
        self.assertIsNone(self.process.poll())

    def test_a_run_goes_on_and_a_late_reader_gets_all_of_it(self):
        self.start("late", f"run.steps={self.STEPS}")
        self.wait_for("finished.json")
        time.sleep(0.5)
        self.assertIsNone(self.process.poll())
        said = self.process.communicate(timeout=PATIENCE_S)[0]
        self.assertEqual(self.process.returncode, 0, said)
        self.assertEqual([int(step) for step in re.findall(r"^step +(\d+)/", said, re.M)], list(range(1, self.STEPS + 1)))
        self.assertIn("figures: ", said)

    def test_one_request_ends_it(self):
        """Launchers signal a process and then its group. Both signals come at the same time, as the process is stopped meanwhile."""
        self.start("signalled", "run.steps=100000")
        self.wait_for(f"trajectories/step_{self.STEPS:06}.safetensors")
        for sent in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            self.process.send_signal(sent)
        self.assertEqual(self.process.wait(PATIENCE_S), 130)
        self.assertTrue((self.run_dir / "checkpoints/final/model.safetensors").exists())

    def test_a_command_that_prints_and_ends(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([cli_test.TEMPER, "options", "--markdown"], cwd=ROOT, stdout=writing)
        os.close(writing)
        self.assertTrue(comes_true(lambda: unread(reading) > 0 or process.poll() is not None))
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 130)


class FullDisks(Program):
    """What cannot be written whole is said, and nothing that looks whole is left."""

    @classmethod
    def setUpClass(cls):
        cls.run_dir = cli_test.WORK / "run"
        done = temper("train", tiny_config(), f"run.dir={cls.run_dir}", "eval.before=false")
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def on_small_disk(self, *words, size="64k"):
        """DISK in a word is its folder. Returns what the command said and what it left."""
        disk = cli_test.WORK / "disk"
        disk.mkdir(exist_ok=True)
        words = [str(word).replace("DISK", str(disk)) for word in words]
        done = subprocess.run(["unshare", "-rm", "sh", "-c",
                               f'mount -t tmpfs -o size={size} none {disk} || exit 99; "$0" "$@"; code=$?; find {disk} -type f; exit $code',
                               cli_test.TEMPER, *words], capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S)
        if done.returncode == 99 or "unshare:" in done.stderr:
            self.skipTest("no permission to mount: " + done.stderr)
        self.check(done, 3, "No space left on device")
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith(str(disk))], [])

    def test_export(self):
        self.on_small_disk("export", self.run_dir, "DISK/model")

    def test_report(self):
        self.on_small_disk("report", self.run_dir, "--out", "DISK/report.html")

    def test_trajectories_of_an_evaluation(self):
        self.on_small_disk("eval", tiny_config(), f"model.path={self.run_dir}", "--trajectories", "DISK/kept.safetensors", "eval.samples=16",
                           size="8k")


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    cli_test.TEMPER = str(BUILD / "temper")
    with tempfile.TemporaryDirectory(prefix="temper_surroundings_") as work:
        cli_test.WORK = Path(work)
        unittest.main(verbosity=2)
