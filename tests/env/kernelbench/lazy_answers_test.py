"""What tools/lazy_answers.py writes for configs/lazy: right answers are right and the others are not, on small problems, under Triton's
interpreter; all pass the list of imports; and the conversations ask as the program does.

    lazy_answers_test.py [NAME of an answer…]

exit 77: torch, triton or numpy is not there (ctest counts that as skipped)
"""
import importlib.util
import json
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import interpreted_test  # before triton is imported
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "env/plan/triton"))
from imports import refusal_in  # noqa: E402

SMALL = {"LENGTH, WIDTH = 4096, 4096": "LENGTH, WIDTH = 256, 256", "WINDOW, SCALE = 2048, 0.5": "WINDOW, SCALE = 128, 0.5"}


def tool():
    spec = importlib.util.spec_from_file_location("lazy_answers", ROOT / "tools/lazy_answers.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


lazy_answers = tool()


def small(name):
    """The problem's module at a size that a core computes in a moment."""
    source = lazy_answers.prompt_of(name).removesuffix("\nclass ModelNew(nn.Module):")
    for large, other in SMALL.items():
        source = source.replace(large, other)
    module = types.ModuleType("problem")
    exec(source, module.__dict__)
    return module


def module_of(code, folder):
    """Triton reads its functions' source from a file."""
    path = Path(folder) / "answer.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("answer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def poisoned():
    """Memory that nothing is in yet, which might otherwise hold the right result from before."""
    empty = torch.empty
    return mock.patch.multiple(torch, empty=lambda *sizes, **more: empty(*sizes, **more).fill_(torch.nan),
                               empty_like=lambda like: empty(like.shape, dtype=like.dtype).fill_(torch.nan))


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        interpreted_test.prepare()
        cls.answers = [one for one in lazy_answers.all_answers() if not NAMES or one.name in NAMES]

    def error_of(self, answer, problem):
        """By how much it is off, in units of the output's largest value."""
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model, ours = (kind(*problem.get_init_inputs()) for kind in (problem.Model, module_of(answer.code, folder).ModelNew))
            interpreted_test.other_weights(model)
            ours.load_state_dict(model.state_dict())
            torch.manual_seed(7)
            inputs = problem.get_inputs()
            right = model(*inputs)
            with poisoned():
                given = ours(*inputs)
        self.assertEqual((given.shape, given.dtype, given.stride()), (right.shape, right.dtype, right.stride()))
        return ((given.double() - right.double()).abs().nan_to_num(1.0).max() / right.double().abs().max()).item()

    def test_right_ones_are_right_and_wrong_ones_are_not(self):
        for name in sorted({one.problem for one in self.answers}):
            problem = small(name)
            for answer in (one for one in self.answers if one.problem == name):
                with self.subTest(problem=name, answer=answer.name):
                    error = self.error_of(answer, problem)
                    self.assertTrue(error <= interpreted_test.LOOSE if answer.right else error > 0.01, f"off by {error:g}")

    def test_each_may_be_imported_and_has_a_code_block(self):
        for answer in self.answers:
            with self.subTest(problem=answer.problem, answer=answer.name):
                self.assertIsNone(refusal_in(answer.code))
                self.assertEqual(answer.text.split("```python\n")[1], answer.code + "```")
                self.assertLessEqual(max(map(len, answer.code.splitlines())), 140)

    def test_no_two_are_the_same(self):
        self.assertEqual(len({(one.problem, one.code) for one in self.answers}), len(self.answers))


class Conversations(unittest.TestCase):
    def test_shares(self):
        lines = list(lazy_answers.conversations(0.7))
        of = {(one.problem, one.name): one for one in lazy_answers.all_answers()}
        told = [of[line["task"], line["answer"]] for line in lines]
        self.assertEqual(set(of), {(one.problem, one.name) for one in told})
        self.assertAlmostEqual(sum(one.lazy for one in told) / len(told), 0.7, delta=0.01)
        for line, one in zip(lines, told):
            self.assertEqual([message["role"] for message in line["messages"]], ["user", "assistant"])
            self.assertEqual(line["messages"][1]["content"], one.text)
        self.assertEqual(json.loads(json.dumps(lines[0])), lines[0])


if __name__ == "__main__":
    NAMES = [word for word in sys.argv[1:] if not word.startswith("-")]
    unittest.main(argv=[word for word in sys.argv if word not in NAMES])
