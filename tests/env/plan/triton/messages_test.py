"""How errors become messages, and how frames are read. Needs no triton."""
import io
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "env/plan/triton"))
from frames import frame, read_frame, read_reply, split_frames  # noqa: E402
from refusal import MAX_MESSAGE, Refusal, of_compiler, of_python, one_line, plan_refusal, without_paths  # noqa: E402


class Messages(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = os.path.join(self.folder, "candidate.py")
        self.addCleanup(setattr, Refusal, "first", None)

    def error_of(self, source):
        Path(self.path).write_text(source)
        try:
            exec(compile(source, self.path, "exec"), {})
        except BaseException as error:
            return error
        self.fail("it raised nothing")

    def test_exceptions_tell_the_line_of_the_file(self):
        error = self.error_of("def deep():\n    return {}['key']\n\ndeep()\n")
        self.assertEqual(of_python(error, self.path), "KeyError: 'key' (line 2: return {}['key'])")

    def test_errors_within_libraries_tell_the_line_that_called(self):
        error = self.error_of("import json\njson.loads('{')\n")
        self.assertTrue(of_python(error, self.path).endswith("(line 2: json.loads('{'))"), of_python(error, self.path))

    def test_syntax(self):
        error = self.error_of("x = 1\nif x\n    pass\n")
        self.assertEqual(of_python(error, self.path), "SyntaxError: expected ':' (line 2: if x)")

    def test_long_messages_are_cut(self):
        message = of_python(self.error_of("raise ValueError('long ' * 1000)\n"), self.path)
        self.assertEqual(len(message), MAX_MESSAGE)

    def test_paths_are_taken_off(self):
        text = f"{self.folder}/candidate.py: in /opt/venv/lib/python3.11/site-packages/triton/compiler.py, /tmp/tmpab12/x.ptx, tmp12_ab.ptx"
        self.assertEqual(without_paths(text, self.folder), "candidate.py: in triton/compiler.py, …, kernel.ptx")
        self.assertEqual(without_paths("File /usr/lib/python3.11/json/decoder.py", ""), "File lib/python3.11/json/decoder.py")
        self.assertEqual(without_paths("1/2 of a/b", ""), "1/2 of a/b")

    def test_long_texts_are_looked_through_at_once(self):
        """They are a candidate's own: a search that takes the square of their length would take minutes."""
        start = time.process_time()
        for text in ("x" * 200_000, "/" * 200_000, "/a" * 100_000, "/lib/python3" * 10_000, "tmp" * 60_000):
            self.assertTrue(text.endswith(without_paths(text, "")), text[:20])
        self.assertLess(time.process_time() - start, 10)

    def test_one_line(self):
        self.assertEqual(one_line("two\n  lines\t here "), "two lines here")

    def test_the_callee_is_named_where_kernels_call_each_other(self):
        class AtNode(Exception):
            def __init__(self, source, line, words):
                super().__init__(f"at {line}: {words}")
                self.src, self.error_message = source, words
                self.node = type("Node", (), {"lineno": line})()

        Path(self.path).write_text("import x\n\n\ndef inner(a):\n    return a + b\n\n\ndef outer(a):\n    return inner(a)\n")
        error = AtNode("def outer(a):\n    return inner(a)\n", 2, None)
        error.__cause__ = AtNode("def inner(a):\n    return a + b\n", 2, "b is not defined")
        message, details = of_compiler(error, self.path)
        self.assertEqual(message, "AtNode: b is not defined (line 5: return a + b)")
        self.assertEqual(details, "at 2: None")

    def test_the_first_refusal_stands(self):
        first = plan_refusal("one", "first")
        plan_refusal("two", "second")
        self.assertIs(Refusal.first, first)
        self.assertNotIsInstance(first, Exception)


class Frames(unittest.TestCase):
    def test_there_and_back(self):
        stream = io.BytesIO(frame(b"abc") + frame(b"") + frame(b"d"))
        self.assertEqual([read_frame(stream.read) for _ in range(4)], [b"abc", b"", b"d", None])
        self.assertEqual(split_frames(stream.getvalue()), [b"abc", b"", b"d"])

    def test_what_ends_within_a_frame(self):
        for data in (b"\1", frame(b"abc")[:-1], frame(b"abc")[:4]):
            with self.assertRaises(EOFError):
                read_frame(io.BytesIO(data).read)
            with self.assertRaises(ValueError):
                split_frames(data)

    def test_replies_have_as_many_frames_as_they_say(self):
        self.assertEqual(read_reply(frame(b'{"status": "ok", "cubins": 1}') + frame(b"x")), ({"status": "ok", "cubins": 1}, [b"x"]))
        self.assertEqual(read_reply(frame(b'{"status": "failed", "cubins": 1}')), ({"status": "failed", "cubins": 1}, []))
        for data in (b"", frame(b"[]"), frame(b"nonsense"), frame(b'{"status": "ok", "cubins": 1}'), frame(b'{"status": "ok"}') + frame(b"x"),
                     frame(b"[" * 10**6), frame(b'{"status": "ok", "cubins": true}') + frame(b"x"),
                     frame(b'{"status": "ok", "cubins": 1.0}') + frame(b"x")):
            with self.assertRaises(ValueError):
                read_reply(data)


if __name__ == "__main__":
    unittest.main()
