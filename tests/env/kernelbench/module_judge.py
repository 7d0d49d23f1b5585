"""The processes of Tier 1 on a core, as drive.py has them, for tests that share them."""
import sys
import types
import unittest
from pathlib import Path

try:
    import torch  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[3]
for folder in ("env/plan/triton", "env/kernelbench/extensions", "env/kernelbench/drawing", "env/kernelbench/python"):
    sys.path.insert(0, str(ROOT / folder))

import drive  # noqa: E402
from processes import Candidate, Reference  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\n"
LINEAR = HEAD + """
class Model(nn.Module):
    def __init__(self, columns, features):
        super().__init__()
        self.linear = nn.Linear(columns, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return self.norm(self.linear(x))

def get_inputs():
    return [torch.rand(33, 96)]

def get_init_inputs():
    return [96, 40]
"""


def options(source, **more):
    told = {"problem_source": source, "precision": "fp32", "tolerance": 1e-4, "trials": 2, "draws": 6, "pairs": 0, "device_times": 0,
            "profile": False, "backend": "cuda", "extensions": [], "ungated": False, **more}
    return types.SimpleNamespace(**told)


def load_request(source, **more):
    return {"name": "problem", "source": source, "precision": "fp32", "tolerance": 1e-4, "trials": 2, **more}


class JudgeTest(unittest.TestCase):
    """Tests that share the reference's process, a candidate's and a baseline's. Sources are harmless, so that a process takes several."""

    @classmethod
    def setUpClass(cls):
        cls.reference = Reference("cpu")
        cls.processes = [Candidate(cls.reference) for _ in range(2)]

    @classmethod
    def tearDownClass(cls):
        for one in (*cls.processes, cls.reference):
            one.close()

    def judge(self, problem, candidate, **more):
        """drive.py's result for these sources."""
        told = options(problem, **more)
        loaded = self.reference.load(**load_request(problem, trials=told.trials, precision=told.precision, tolerance=told.tolerance))
        self.assertEqual(loaded["status"], "ok", loaded)
        judge = drive.Judge(told, self.reference)
        judge.wanted = loaded["outputs"]
        return {"problem": loaded, **judge.judge(*self.processes, HEAD + candidate)}
