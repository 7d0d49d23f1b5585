"""What a case is, and the commands that cases are tried with."""

MORE_SECONDS = 1.0  # of processor time than with good files
CASES = []

EXPORT = ["export", "DIR", "OUT"]
TOKENIZE = ["tokenize", "--model", "DIR", "the cab, abba"]
ADMIT = ["judge", "--admit", "tasks.path=DIR/tasks.yaml"]
PROBLEMS = ["tasks", "tasks.path=DIR/problems.jsonl"]
DRY_RUN = ["train", "DIR/run.yaml", "--dry-run", "model.path=DIR", "cold_start.data=DIR/data.jsonl", "run.dir=OUT"]


class Case:
    def __init__(self, name, make, code, words, command, seconds, preloaded, during):
        self.name, self.make, self.code, self.words, self.command = name, make, code, words, command
        self.seconds, self.preloaded, self.during = seconds, preloaded, during


def case(name, words="", code=2, command=EXPORT, seconds=MORE_SECONDS, preloaded="", during=None):
    """Registers a function of a Folder. `words` is a regular expression that the answer must hold. `preloaded` is C that is loaded into the
    program, and `during` is called with its pid and the folder while it runs."""
    def register(make):
        CASES.append(Case(name, make, code, words, command, seconds, preloaded, during))
        return make
    return register
