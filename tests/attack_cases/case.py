"""What a case is, and the commands that cases are tried with."""

MORE_SECONDS = 1.0  # of processor time than with good files
CASES = []

EXPORT = ["export", "DIR", "OUT"]
TOKENIZE = ["tokenize", "--model", "DIR", "the cab, abba"]
ADMIT = ["judge", "--admit", "tasks.path=DIR/tasks.yaml"]
PROBLEMS = ["tasks", "tasks.path=DIR/problems.jsonl"]
DRY_RUN = ["train", "DIR/run.yaml", "--dry-run", "model.path=DIR", "cold_start.data=DIR/data.jsonl", "run.dir=OUT"]


class Case:
    def __init__(self, name, make, code, words, command, seconds, during):
        self.name, self.make, self.code, self.words, self.command = name, make, code, words, command
        self.seconds, self.during = seconds, during


def case(name, words="", code=2, command=EXPORT, seconds=MORE_SECONDS, during=None):
    """Registers a function of a Folder. `words` is a regular expression that the answer must hold."""
    def register(make):
        CASES.append(Case(name, make, code, words, command, seconds, during))
        return make
    return register
