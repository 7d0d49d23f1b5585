"""What a candidate did that a plan cannot hold, and how it is told: kind, reason and message of the verdict."""
import contextlib
import linecache
import os
import re
import traceback

# Reply's limits on what people read.
MAX_MESSAGE, MAX_DETAILS, MAX_LINE = 600, 8192, 160
MAX_READ = 65536  # characters of an error that are looked through; it may have millions


class Refusal(BaseException):
    """The verdict's kind and reason, and one line that says what to do instead.

    It is no Exception, so that a candidate's `except Exception` does not hide it. The first one stands even if the candidate caught it.
    """
    first = None

    def __init__(self, kind, reason, message, details=""):
        super().__init__(message)
        self.kind, self.reason, self.message, self.details = kind, reason, message, details
        Refusal.first = Refusal.first or self


def plan_refusal(reason, message, details=""):
    return Refusal("FAIL_PLAN", reason, message, details)


def policy_refusal(reason, message):
    return Refusal("REJECT_POLICY", reason, message)


def without_home(path):
    """A path from the last `lib/python3…/` on that is not at its beginning."""
    found = [one.start() for one in re.finditer(r"/lib/python3[^/]*(?=/)", path[0]) if one.start()]
    return path[0][found[-1] + 1:] if found else path[0]


def without_paths(text, folder):
    """The text with this machine's folders taken off the names of files. It may be a candidate's and long: each pattern begins at one place of a
    word, so that the time grows with the text and not with its square."""
    if folder:
        text = text.replace(folder.rstrip("/") + "/", "")
    text = re.sub(r"(?<![^\s'\"])[^\s'\"]*/(?:site|dist)-packages/", "", text)
    text = re.sub(r"(?:/[\w.+-]+)+/?", without_home, text)
    text = re.sub(r"\btmp\w+\.ptx\b", "kernel.ptx", text)
    return re.sub(r"/tmp/[\w./-]*", "…", text)


def shortened(text, limit):
    return text if len(text) <= limit else text[:limit - 1] + "…"


def show_lines(source, path):
    """Tracebacks, messages and Triton find the source's lines."""
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)


def line_of(path, number):
    """`line 12: the text of that line`, for the end of a message."""
    text = shortened(linecache.getline(path, number).strip(), MAX_LINE)
    return f"line {number}: {text}" if text else f"line {number}"


def own_line(error, path):
    """The innermost line of the candidate's file that was running when the error was raised, or None."""
    numbers = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return numbers[-1] if numbers else None


def one_line(text):
    return shortened(" ".join(text.split()), MAX_MESSAGE)


def of_python(error, path):
    """`TypeError: what it says (line 12: the text of that line)`."""
    folder = os.path.dirname(path)
    if isinstance(error, SyntaxError) and error.filename == path and error.lineno:
        return one_line(f"{type(error).__name__}: {error.msg} ({line_of(path, error.lineno)})")
    words = without_paths(shortened(f"{type(error).__name__}: {error}", MAX_READ).rstrip(": "), folder)
    number = own_line(error, path)
    return one_line(f"{words} ({line_of(path, number)})" if number else words)


def chain(error):
    """The error and its causes: where one kernel's function calls another, the callee's error is the last."""
    errors = []
    while error is not None and error not in errors:
        errors.append(error)
        error = error.__cause__
    return errors


def line_in_file(source, path):
    """How many lines of the file precede the function whose text the compiler has, or None."""
    with contextlib.suppress(OSError, UnicodeDecodeError), open(path) as file:
        lines = [line.strip() for line in file]
        wanted = [line.strip() for line in source.rstrip().split("\n")]
        for at in range(len(lines) - len(wanted) + 1):
            if lines[at:at + len(wanted)] == wanted:
                return at
    return None


def of_compiler(error, path, printed=""):
    """The message and the details of an error that Triton's compiler raised after it had printed something."""
    folder, errors = os.path.dirname(path), chain(error)
    inner = errors[-1]
    words = getattr(inner, "error_message", None) or str(inner) or type(inner).__name__
    words = words.partition("\nRepro command")[0] + (f": {printed}" if printed else "")
    where = ""
    for one in errors:
        node, source = getattr(one, "node", None), getattr(one, "src", None)
        before = line_in_file(source, path) if source and hasattr(node, "lineno") else None
        where = f" ({line_of(path, before + node.lineno)})" if before is not None else where
    details = shortened(without_paths(str(error).partition("\nRepro command")[0], folder), MAX_DETAILS)
    return one_line(f"{type(inner).__name__}: {without_paths(words, folder)}{where}"), details
