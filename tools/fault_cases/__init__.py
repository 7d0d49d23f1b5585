"""The cases of tools/faults. What starts runs and ranks is shared with the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))
