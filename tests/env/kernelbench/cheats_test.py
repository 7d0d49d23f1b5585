"""The classic cheats of a few problems get the verdicts that their headers name, on a CPU."""
import unittest

from cheats import all_cheats
from judging import CandidatesTest, add_tests, here

PROBLEMS = ("level1/3_row_softmax", "level1/14_wide_softmax", "level2/4_add_layer_norm_relu", "level2/8_always_zero")


class Cheats(CandidatesTest):
    pass


add_tests(Cheats, ((cheat, source) for problem, cheat, source in all_cheats() if problem in PROBLEMS and here(source)))

if __name__ == "__main__":
    unittest.main()
