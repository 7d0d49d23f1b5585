"""The candidates' headers say what is needed, and those that a CPU can judge get the verdicts that the headers name: references, controls,
and tricks that gain nothing."""
import ast
import unittest

from cheats import all_cheats
from headers import COMPARABLE, HERE, KINDS, NEEDED, headers
from judging import CandidatesTest, add_tests, here, refusal_of
from small import CONSTANTS, small

FILES = sorted((HERE / "candidates").glob("*/*.py"))
FOLDERS = {"gallery": 40, "controls": 10, "harmless": 1}  # and how many there are at least


class Headers(unittest.TestCase):
    def check(self, name, source, problems):
        said = headers(source)
        self.assertEqual([one for one in NEEDED if not said.get(one)], [], name)
        self.assertTrue((HERE / "problems" / said["problem"]).is_file(), name)
        self.assertIn(said["backend"], ("cuda", "triton"), name)
        self.assertIn(said["comparable"], COMPARABLE, name)
        for verdicts in (said["strict"], said.get("ungated", "PASS")):
            self.assertLessEqual({one.split()[0] for one in verdicts.split(" | ")}, KINDS, name)
        self.assertLessEqual(said.keys() - set(NEEDED), {"speedup_below", "share_below", "runs_on", "needs", "slow", "ungated"}, name)
        problems.add((said["problem"], name.split("/")[-1]))

    def test_all_files(self):
        found = set()
        for path in FILES:
            self.check(f"{path.parent.name}/{path.name}", path.read_text(), found)
        for folder, least in FOLDERS.items():
            self.assertGreaterEqual(len(list((HERE / "candidates" / folder).glob("*.py"))), least, folder)
        whole = {problem for problem, name in found if {(problem, one) for one in ("reference.py", "triton.py", "cuda.py")} <= found}
        self.assertGreaterEqual(len(whole), 24)

    def test_folders_keep_their_word(self):
        for path in FILES:
            said, name = headers(path.read_text()), path.parent.name
            strict = said.get("ungated", said["strict"])
            if name == "gallery":
                self.assertNotIn("PASS", strict, path.name)
            elif name == "harmless":
                self.assertIn("PASS", strict, path.name)
                self.assertIn("speedup_below", said, path.name)
            else:
                self.assertEqual(strict, "PASS", path.name)

    def test_cheats(self):
        found, count = set(), {}
        for problem, cheat, source in all_cheats():
            ast.parse(source)
            self.check(f"{problem}/{cheat}.py", source, found)
            count[problem] = count.get(problem, 0) + 1
        self.assertGreaterEqual(sum(one >= 10 for one in count.values()), 24)

    def test_sources_are_python(self):
        for path in FILES:
            if path.stem != "syntax_error":
                ast.parse(path.read_text(), path.name)

    def test_the_gate_refuses_what_says_so(self):
        for path in FILES:
            said = headers(path.read_text())
            self.assertEqual(refusal_of(path.read_text()), said["strict"] if "ungated" in said else None, path.name)

    def test_table_lists_all(self):
        table = (HERE / "candidates/README.md").read_text()
        missing = [f"{path.parent.name}/{path.name}" for path in FILES if f"| {path.parent.name}/{path.stem} |" not in table]
        self.assertEqual(missing, [], "run table.py")

    def test_small_problems(self):
        problems = {f"{path.parent.name}/{path.stem}": path for path in (HERE / "problems").glob("*/*.py")}
        self.assertEqual(sorted(problems), sorted(CONSTANTS))
        for name, path in problems.items():
            self.assertEqual((HERE / "problems_small" / f"{name}.py").read_text(), small(name, path.read_text()), "run small.py")


class Judged(CandidatesTest):
    pass


add_tests(Judged, ((path.stem, path.read_text()) for path in FILES if path.parent.name != "gallery" and here(path.read_text())))

if __name__ == "__main__":
    unittest.main()
