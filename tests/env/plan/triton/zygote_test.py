"""The zygote's parent: whatever a candidate does, there is a reply, and the next candidate is unaffected."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from client import ROOM, Zygote, candidate, request_for
from patience import PATIENCE_S, comes_true
from tasks import request_of, shape

SHAPES = [shape({"x": "f32 16"}, {"y": "f32 16"}, n=16)]
GOOD = "import torch\ndef launch(x, n):\n    return torch.zeros_like(x)\n"
# Reaches the process's own reply pipe, as a candidate could.
PIPE = """
import contextlib, torch
os = torch.os
def pipe():
    for number in range(3, 1024):
        with contextlib.suppress(OSError):
            if os.fstat(number).st_mode & 0o170000 == 0o010000:
                return number
"""


def commands_with(word):
    """Of the processes that there are."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            found.append(path.read_bytes())
    return [command for command in found if word.encode() in command]


def reply_bytes(text, *cubins):
    """Python that writes a reply of its own and ends."""
    return PIPE + f"""
def launch(x, n):
    text, cubins = {text!r}.encode(), {list(cubins)!r}
    for part in [text, *cubins]:
        os.write(pipe(), len(part).to_bytes(4, "little") + part)
    os._exit(0)
"""


class Zygotes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.zygote = Zygote(TMPDIR=cls.scratch.name)

    @classmethod
    def tearDownClass(cls):
        cls.zygote.close()
        cls.scratch.cleanup()

    def plan(self, source, **changed):
        reply, cubins = self.zygote.plan(request_of(SHAPES, source, **changed))
        self.assertEqual(os.listdir(self.scratch.name), [], "a folder is left")
        return reply, cubins

    def refused(self, source, kind, reason, **changed):
        reply, _ = self.plan(source, **changed)
        self.assertEqual((reply["status"], reply.get("kind"), reply.get("reason")), ("failed", kind, reason), reply)
        self.assertEqual(self.plan(GOOD)[0]["status"], "ok")  # the next one
        return reply

    def test_says_what_it_is(self):
        self.assertTrue(self.zygote.ready["ready"])
        self.assertEqual(self.zygote.ready["triton"], "3.6.0")

    def test_hang_ends_at_the_limit(self):
        reply = self.refused("def launch(x, n):\n    while True: pass\n", "FAIL_PLAN", "timeout", wall_s=1.5)
        self.assertIn("1.5 s", reply["message"])

    def test_sleep_while_imported(self):
        self.refused("import torch\ntorch.os.system('sleep 100')\n", "FAIL_PLAN", "timeout", wall_s=1.0)

    def test_processor_time_is_limited(self):
        reply = self.refused("def launch(x, n):\n    while True: pass\n", "FAIL_PLAN", "timeout", cpu_s=1, wall_s=PATIENCE_S)
        self.assertIn("more than 1 s", reply["message"])

    def test_slow_compiler(self):
        source = candidate("softmax").replace("# task: gpu_softmax", "").replace("tl.exp(values -", "nested(values -").replace(
            "@triton.jit", "@triton.jit\ndef nested(x):\n    for _ in tl.static_range(100000000):\n        x = tl.exp(x)\n    return x\n\n\n"
            "@triton.jit", 1)
        request = {**request_for(candidate("softmax")), "source": source}
        for wall_s in (15.0, 60.0, PATIENCE_S):  # a busy machine may not compile yet when the first is over
            reply, _ = self.zygote.plan({**request, "wall_s": wall_s})
            if reply["reason"] != "timeout":
                break
        self.assertEqual((reply["kind"], reply["reason"]), ("FAIL_COMPILE", "compile_timeout"), reply)

    def test_ends_itself(self):
        reply = self.refused("import torch\ndef launch(x, n):\n    print('so long', flush=True)\n    torch.os._exit(0)\n", "FAIL_PLAN", "died")
        self.assertIn("exit code 0", reply["message"])
        self.assertEqual(reply["details"], "so long")

    def test_kills_itself(self):
        reply = self.refused("import torch\ndef launch(x, n):\n    torch.os.kill(torch.os.getpid(), 9)\n", "FAIL_PLAN", "died")
        self.assertIn("SIGKILL", reply["message"])

    def test_kills_its_group(self):
        self.refused("import torch\ndef launch(x, n):\n    torch.os.killpg(0, 9)\n", "FAIL_PLAN", "died")

    def test_flood_is_cut(self):
        source = "def launch(x, n):\n    for _ in range(3000):\n        print('x' * 10000)\n    raise ValueError('after the flood')\n"
        reply = self.refused(source, "FAIL_PLAN", "exception")
        self.assertIn("after the flood", reply["message"])
        self.assertLess(len(reply["details"]), 10000)

    def test_children_do_not_outlive(self):
        seconds = f"{1000 + os.getpid()}.125"
        source = (f"import torch\ndef launch(x, n):\n    if torch.os.fork() == 0:\n        torch.os.execvp('sleep', ['sleep', '{seconds}'])\n"
                  "    return torch.zeros_like(x)\n")
        self.assertEqual(self.plan(source)[0]["status"], "ok")
        self.assertTrue(comes_true(lambda: not commands_with(seconds)))

    def test_memory_is_limited(self):
        self.refused("def launch(x, n):\n    return bytearray(8 << 30)\n", "FAIL_PLAN", "exception", memory_bytes=2 << 30)

    def test_forged_replies(self):
        for text, cubins in (("{", []), ("[1, 2]", []), ('{"status": "ok", "cubins": 3, "plans": []}', [b"x"]), ("[" * 100000, []),
                             ('{"status": "ok", "cubins": 1e9, "plans": []}', []), ('{"status": "failed", "cubins": 0}', [b"x"]),
                             ('{"status": "ok", "cubins": 1, "plans": [], "cubins": 0}', [b"x"])):
            with self.subTest(text[:40]):
                self.refused(reply_bytes(text, *cubins), "FAIL_PLAN", "malformed")

    def test_half_a_frame(self):
        self.refused(PIPE + "def launch(x, n):\n    os.write(pipe(), b'\\xff\\0\\0\\0half')\n    os._exit(0)\n", "FAIL_PLAN", "malformed")

    def test_forged_reply_passes_as_bytes(self):
        reply, cubins = self.plan(reply_bytes('{"status": "ok", "cubins": 1, "plans": "nonsense"}', b"no cubin"))
        self.assertEqual((reply["plans"], cubins), ("nonsense", [b"no cubin"]))

    def test_too_many_bytes(self):
        source = PIPE + "def launch(x, n):\n    while True:\n        os.write(pipe(), b'x' * 65536)\n"
        self.refused(source, "FAIL_PLAN", "too_large", reply_bytes=1 << 20)

    def test_channel_is_closed_to_candidates(self):
        source = PIPE + ("def launch(x, n):\n    for number in range(1024):\n        with contextlib.suppress(OSError):\n"
                         "            assert os.fstat(number).st_mode & 0o170000 != 0o140000, 'a socket'\n    return torch.zeros_like(x)\n")
        self.assertEqual(self.plan(source)[0]["status"], "ok")

    def test_candidates_do_not_see_each_other(self):
        self.plan("import torch\ntorch.seen = 1\ntorch.zeros_like = None\ndef launch(x, n):\n    return x\n")
        reply, _ = self.plan(GOOD + "assert not hasattr(torch, 'seen')\n")
        self.assertEqual(reply["status"], "ok", reply)

    def test_same_candidate_same_reply(self):
        (one, cubins), (other, others) = (self.zygote.plan_named("matmul_tma_host") for _ in range(2))
        self.assertEqual(one["plans"], other["plans"])
        self.assertEqual(cubins, others)


class Starts(unittest.TestCase):
    def test_ends_when_the_channel_is_closed(self):
        self.assertEqual(Zygote().close(), 0)

    def test_ends_while_a_candidate_runs(self):
        from frames import frame
        zygote = Zygote()
        zygote.channel.sendall(frame(json.dumps(request_of(SHAPES, "def launch(x, n):\n    while True: pass\n")).encode()))
        time.sleep(0.5)
        zygote.close()  # which waits for its end

    def lock_up(self, body, fork="return 0;"):
        """A zygote whose candidates are locked up by C with these bodies, instead of by env/box/python_lock_up.cc."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        source, library = Path(folder, "lock.c"), Path(folder, "lock.so")
        source.write_text("#include <stdlib.h>\n#include <unistd.h>\n"
                          f"const char* temper_fork_apart() {{ {fork} }}\nconst char* temper_fork_beside() {{ return 0; }}\n"
                          f"const char* temper_lock_up_python(const char* scratch, unsigned long memory, unsigned long cpu) {{ {body} }}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        zygote = Zygote(TEMPER_LOCKUP=str(library))
        self.addCleanup(zygote.close)
        return zygote

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_no_candidate_runs_unlocked(self):
        for body, fork, words in (('return "no namespaces";', "return 0;", "no namespaces"), ("_exit(3);", "return 0;", "exit code 3"),
                                  ("abort();", "return 0;", "SIGABRT"), ("return 0;", 'return "no pids";', "no pids")):
            with self.subTest(words):
                reply, _ = self.lock_up(body, fork).plan(request_of(SHAPES, GOOD))
                self.assertEqual(reply["status"], "infra")
                self.assertIn(words, reply["error"])

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_the_lock_is_told_folder_and_limits(self):
        zygote = self.lock_up('if (memory != 3UL << 30 || cpu != 77) return "other limits"; setenv("LOCKED", scratch, 1); return 0;')
        # Python's own copy of the environment does not know what C set, but a child of Python's does.
        source = GOOD + "assert torch.os.popen('printenv LOCKED').read().strip() == torch.os.getcwd()\n"
        reply, _ = zygote.plan(request_of(SHAPES, source, memory_bytes=3 << 30, cpu_s=77))
        self.assertEqual(reply["status"], "ok", reply)

    def test_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "triton.py").write_text("raise ImportError('no triton here')")
            zygote = Zygote(PYTHONPATH=folder)
            self.assertEqual(zygote.ready, {"ready": False, "error": "ImportError: no triton here"})
            zygote.close()

    def test_plans_one_file_for_people(self):
        with tempfile.TemporaryDirectory() as folder:
            request = Path(folder, "request.json")
            request.write_text(json.dumps(request_of(SHAPES)))
            Path(folder, "candidate.py").write_text(GOOD)
            done = subprocess.run([os.sys.executable, str(ROOM / "zygote.py"), "--plan", f"{folder}/candidate.py", "--request", str(request)],
                                  stdout=subprocess.PIPE, check=True, text=True)
        self.assertEqual(json.loads(done.stdout)["plans"][0]["steps"],
                         [{"memset": {"space": "output", "index": 0, "offset": 0, "value": 0, "width": 4, "count": 16}}])


if __name__ == "__main__":
    unittest.main()
