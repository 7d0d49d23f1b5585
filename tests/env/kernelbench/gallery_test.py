"""No mischief of candidates/gallery passes, as far as a CPU without a box can tell."""
import unittest

from headers import HERE
from judging import CandidatesTest, add_tests, here


class Gallery(CandidatesTest):
    pass


add_tests(Gallery, ((path.stem, path.read_text()) for path in sorted((HERE / "candidates/gallery").glob("*.py")) if here(path.read_text())))

if __name__ == "__main__":
    unittest.main()
