"""Judges candidate files on the CPU, by the same processes as the broker's and without boxes: what their headers say must come out.

Times mean nothing here, so HACK and speedups are not seen. What needs a GPU, a box, the broker's clock, a compiler or minutes is left out. One file in eight is
judged, or all where TEMPER_EVERY_CANDIDATE is set, which takes about twenty minutes.
"""
import ast
import os
import pathlib
import sys
import types
import unittest

try:
    import torch  # noqa: F401
    import triton  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from headers import HERE, headers

sys.path.insert(0, str(HERE.parents[2] / "env/kernelbench/python"))
for folder in ("env/plan/triton", "env/kernelbench/drawing"):
    sys.path.insert(0, str(HERE.parents[2] / folder))
import drive  # noqa: E402
from imports import check_module  # noqa: E402
from processes import Candidate, Ended, Reference  # noqa: E402
from refusal import Refusal  # noqa: E402

TRIALS, DRAWS = 5, 10
STEP = 1 if "TEMPER_EVERY_CANDIDATE" in os.environ else 8
drive.LIMIT_S = 30.0


def here(source):
    """Whether a candidate can be judged on a CPU, without a box, in a moment."""
    said = headers(source)
    return said["backend"] == "cuda" and not {"runs_on", "needs", "slow"} & said.keys() and "load_inline" not in source


def refusal_of(source):
    """The verdict of the gate for imports, or None."""
    try:
        check_module(ast.parse(source), "")
    except Refusal as refused:
        return f"{refused.kind} {refused.reason}"
    except SyntaxError:
        pass
    return None


def kind_of_failure(failed):
    """The verdict's kind for a process that says what went wrong."""
    if "kind" in failed:
        return f"{failed['kind']} {failed['reason']}"
    if failed.get("compiler"):
        return "FAIL_COMPILE"
    if failed["stage"] == "import" and failed["error"] in ("SyntaxError", "IndentationError", "NameError") and "ModelNew" in failed["message"] or \
            failed["error"] in ("SyntaxError", "IndentationError"):
        return "FAIL_PARSE"
    return "FAIL_INCORRECT weights" if failed["stage"] == "weights" else "FAIL_RUNTIME"


class Bench:
    """The reference's process, and candidates' that are warm when they are needed."""

    def __init__(self):
        self.reference = Reference("cpu")
        self.problem, self.source, self.loaded = None, None, None
        self.next = Candidate(self.reference)
        self.kept = None

    def close(self):
        for one in (self.next, self.kept, self.reference):
            if one is not None:
                one.close()

    def load(self, problem):
        if problem != self.problem:
            self.source = (HERE / "problems_small" / problem).read_text()
            self.loaded = self.reference.load(name=problem, source=self.source, precision="fp32", tolerance=1e-4, trials=TRIALS)
            if self.loaded["status"] != "ok":
                raise AssertionError(f"{problem}: {self.loaded}")
            self.problem = problem

    def candidate(self, harmless):
        """A process. Those that are harmless share one, which saves its start."""
        if harmless and self.kept is not None:
            return self.kept
        made, self.next = self.next, Candidate(self.reference)
        if harmless:
            self.kept = made
        return made

    def judge(self, source, harmless=False, gated=True):
        """(strict, comparable, what was said)"""
        self.load(headers(source)["problem"])
        candidate = self.candidate(harmless)
        told = types.SimpleNamespace(problem_source=self.source, precision="fp32", backend="cuda", extensions=[], trials=TRIALS, draws=DRAWS,
                                     ungated=not gated)
        judge = drive.Judge(told, self.reference)
        judge.wanted = self.loaded["outputs"]
        try:
            return self.verdicts(judge, candidate, source)
        finally:
            if not harmless:
                candidate.process.kill()
                candidate.close()

    def verdicts(self, judge, candidate, source):
        try:
            prepared = judge.prepare(candidate, source, "cuda")
            if prepared["status"] != "ok":
                return kind_of_failure(prepared), "failed", prepared
        except (Ended, OSError, ValueError) as error:
            return "FAIL_RUNTIME", "failed", str(error)
        comparable = "failed"
        try:
            told = judge.comparable(candidate)
            wrong = told.get("first_wrong", {})
            comparable = "correct" if told["correct"] else "failed" if wrong.get("stage") else "incorrect"
            return *self.strict(judge, candidate, comparable), wrong
        except (Ended, OSError, ValueError, KeyError) as error:
            return "FAIL_RUNTIME", comparable, f"{type(error).__name__}: {error}"

    @staticmethod
    def strict(judge, candidate, comparable):
        told = judge.use_strict_weights([candidate])
        for trial in range(DRAWS):
            if told["status"] == "ok" or "right" in told:
                told = judge.call(candidate, "strict", trial)
            if not told.get("right"):
                break
        if told.get("right"):
            return "PASS", comparable
        return (kind_of_failure(told) if told.get("stage") else f"FAIL_INCORRECT {told.get('reason', '')}".strip()), comparable


def agrees(got, allowed):
    """A kind alone allows all its reasons."""
    return any(got == one or got.split()[0] == one for one in allowed.split(" | "))


class CandidatesTest(unittest.TestCase):
    """A subclass's tests judge files."""

    @classmethod
    def setUpClass(cls):
        cls.bench = Bench()

    @classmethod
    def tearDownClass(cls):
        cls.bench.close()

    def judge(self, source, harmless):
        said = headers(source)
        gated = "ungated" not in said
        self.assertEqual(refusal_of(source), None if gated else said["strict"])
        strict, comparable, told = self.bench.judge(source, harmless, gated)
        expected = said["strict" if gated else "ungated"]
        self.assertTrue(agrees(strict, expected), f"strict {strict}, not {expected}: {str(told)[:1000]}")
        self.assertTrue(said["comparable"] in (comparable, "any"), f"comparable {comparable}, not {said['comparable']}: {str(told)[:1000]}")


def judges(source, harmless):
    return lambda self: self.judge(source, harmless)


def add_tests(case, sources):
    """A test for each (name, source), named so that those of one problem follow each other. A reference changes nothing in its process."""
    for name, source in list(sources)[::STEP]:
        problem = pathlib.PurePath(headers(source)["problem"]).with_suffix("")
        setattr(case, f"test_{str(problem).replace(os.sep, '_')}__{name}", judges(source, name == "reference"))
