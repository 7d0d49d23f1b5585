"""Checks what README, CONTRIBUTING and docs/ name against what there is: python3 tests/docs_test.py build/temper

Links, anchors, paths of the repository, options, metrics, commands and their flags. It does not check whether a sentence is true.
"""

import functools
import re
import subprocess
import sys
import unittest
from pathlib import Path

from patience import PATIENCE_S

ROOT = Path(__file__).resolve().parent.parent
TEMPER = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else str(ROOT / "build/temper")

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOOR_LINES = 150  # of the README, at most
# Folders of the checkout that are made and not kept, and those of a run.
MADE = ("build", "runs", ".deps", ".cache")
# In a name it stands for any other: policy/ops/NAME.h.
PLACEHOLDER = re.compile(r"(?:^|[/_.])[A-Z]+(?=[/_.]|$)")
CODE_LINE = re.compile(r"^(?:    |\t)")
SPAN = re.compile(r"``(.+?)``|`([^`\n]+)`")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
PATH = re.compile(r"^[\w.-]+(?:/[\w.-]+)+/?$")
OPTION = re.compile(r"^[a-z_]+(?:\.[a-z_0-9]+)+$")
COMMAND = re.compile(r"(?:^|[\s/`(])temper ((?:[a-z]+)(?: [a-z]+)?)(?=$|[\s`,;.)…])")
SOURCE = re.compile(r"\.(?:h|cc|cu|cuh|py|md|yaml|json|txt|js|css|html|in|sh|cmake|safetensors|zst|jsonl|csv|log)$")


def temper(*words):
    return subprocess.run([TEMPER, *words], capture_output=True, text=True, timeout=PATIENCE_S).stdout


def fenced(text):
    """The text with the fenced blocks' lines emptied, and those lines."""
    outside, inside, fence = [], [], None
    for line in text.splitlines():
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if fence is None and mark:
            fence = mark.group(1)
        elif fence is not None and line.strip().startswith(fence):
            fence = None
        elif fence is not None:
            inside.append(line)
            outside.append("")
            continue
        else:
            outside.append(line)
            continue
        outside.append("")
    return outside, inside


def prose(path):
    """Lines outside code blocks."""
    return [line for line in fenced(path.read_text())[0] if not CODE_LINE.match(line)]


def blocks(path):
    """Lines of code blocks, indented or fenced."""
    outside, inside = fenced(path.read_text())
    return inside + [line for line in outside if CODE_LINE.match(line)]


def spans(path):
    return [one or two for line in prose(path) for one, two in SPAN.findall(line)]


def anchors(path):
    """As GitHub makes them of headings."""
    found, count = set(), {}
    for line in prose(path):
        heading = re.match(r"#{1,6} +(.*)$", line)
        if not heading:
            continue
        name = re.sub(r"[^\w\- ]", "", heading.group(1).replace("`", "").lower()).replace(" ", "-")
        found.add(name if name not in count else f"{name}-{count[name]}")
        count[name] = count.get(name, 0) + 1
    return found


def named_commands(path):
    """Words behind `temper` in code, whatever stands in front of it."""
    for text in [*spans(path), *blocks(path)]:
        text = text.split("#")[0] if CODE_LINE.match(text) else text
        for words in COMMAND.findall(text):
            yield words.split()


class Docs(unittest.TestCase):
    def check(self, problems):
        self.assertEqual([], problems, "\n" + "\n".join(problems))

    def test_readme_is_a_door(self):
        lines = len((ROOT / "README.md").read_text().splitlines())
        self.assertLessEqual(lines, DOOR_LINES, "README.md: what is more belongs into docs/")

    def test_readme_names_every_page(self):
        text = (ROOT / "README.md").read_text()
        pages = [page.relative_to(ROOT).as_posix() for page in PAGES[2:]]
        self.check([f"README.md does not link {page}" for page in pages if f"({page})" not in text])

    def test_links(self):
        problems = []
        for page in PAGES:
            for target in LINK.findall(SPAN.sub("", "\n".join(prose(page)))):
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                there = (page.parent / file).resolve() if file else page
                if not there.exists():
                    problems.append(f"{page.relative_to(ROOT)}: {target}: there is no such file")
                elif anchor and anchor not in anchors(there):
                    problems.append(f"{page.relative_to(ROOT)}: {target}: there is no such heading")
        self.check(problems)

    def test_options(self):
        known = set(re.findall(r"^\| `([\w.]+)` \|", temper("options", "--markdown"), re.MULTILINE))
        self.assertGreater(len(known), 100)
        known |= {name.rsplit(".", 1)[0] for name in known}  # sections
        sections = {name.split(".")[0] for name in known}
        problems = []
        for page in PAGES:
            words = [word for text in blocks(page) if re.search(r"\btemper |tools/quickstart|^ +run=|^ +model\.", text)
                     for word in re.findall(r"(?<![\w./])([a-z_]+(?:\.[a-z_0-9]+)+)=", text)]
            for span in spans(page):
                name = re.split(r"[=:]", span, maxsplit=1)[0].strip()
                inside = re.findall(r"(?<![\w./-])([a-z_]+(?:\.[a-z_0-9]+)+)=", span)
                words += [name, *inside] if OPTION.match(name) else inside
            for word in words:
                if word.split(".")[0] in sections and not SOURCE.search(word) and word not in known:
                    problems.append(f"{page.relative_to(ROOT)}: there is no option {word}")
        self.check(problems)

    def test_commands(self):
        top = temper("--help")
        commands = set(re.findall(r"^  ([a-z]+)  +\S", top, re.MULTILINE)) | {"help"}
        self.assertIn("train", commands)
        benches = set(re.findall(r"^  ([a-z]+)  +\S", temper("bench", "--help"), re.MULTILINE))
        problems = []
        for page in PAGES:
            for words in named_commands(page):
                if words[0] not in commands:
                    problems.append(f"{page.relative_to(ROOT)}: there is no command temper {words[0]}")
                elif words[0] == "bench" and len(words) > 1 and words[1] not in benches:
                    problems.append(f"{page.relative_to(ROOT)}: there is no command temper bench {words[1]}")
        self.check(problems)

    def test_flags(self):
        helped, problems = {}, []
        for page in PAGES:
            for text in [*spans(page), *blocks(page)]:
                for bench, command, rest in re.findall(r"\btemper (bench )?([a-z]+)((?: [^#|`]*)?)", text):
                    words = (["bench"] if bench else []) + [command]
                    if tuple(words) not in helped:
                        helped[tuple(words)] = temper(*words, "--help-all")
                    for flag in re.findall(r"(?<=\s)--[a-z][a-z-]*", rest.split(" && ")[0]):
                        if flag not in helped[tuple(words)]:
                            problems.append(f"{page.relative_to(ROOT)}: temper {' '.join(words)} has no {flag}")
        self.check(problems)

    def test_paths(self):
        tops, problems = {path.name for path in ROOT.iterdir()}, []
        for page in PAGES:
            for span in spans(page):
                word = (span.split() or [""])[0]
                names_something = PATH.match(word) and word.split("/")[0] in tops and not PLACEHOLDER.search(word)
                if not names_something or word.split("/")[0] in MADE or word in metrics():
                    continue
                if not (ROOT / word).exists():
                    problems.append(f"{page.relative_to(ROOT)}: there is no {word}")
        self.check(problems)

    def test_pages_that_sources_name(self):
        problems = []
        for top in ("base", "configs", "env", "policy", "rollout", "tests", "tools", "trainer"):
            for path in sorted((ROOT / top).rglob("*")):
                if path.suffix not in (".h", ".cc", ".cu", ".cuh", ".py", ".yaml", "") or not path.is_file() or "corpus" in path.parts:
                    continue
                for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(errors="replace")):
                    if not (ROOT / page).exists():
                        problems.append(f"{path.relative_to(ROOT)}: there is no {page}")
        self.check(problems)

    def test_tree_of_the_readme(self):
        """The annotated tree has every folder of the second level."""
        named, top = set(), ""
        for line in (ROOT / "README.md").read_text().splitlines():
            if folder := re.match(r"    ([a-z]+)/ ", line):
                top = folder.group(1)
                named.add(top)
            elif line.startswith("      ") and top:
                named |= {f"{top}/{name}" for name in re.findall(r"\b([a-z_]+)/", line)}
            elif line:
                top = ""
        self.assertIn("env", named)
        there = {path.parent.relative_to(ROOT).as_posix() for top in ("env", "policy", "rollout", "trainer")
                 for path in (ROOT / top).glob("*/*.*")}
        self.check([f"README.md's tree lacks {folder}/" for folder in sorted(there - named)])

    def test_metrics(self):
        """Metrics are named as the program names them."""
        known, problems = metrics(), []
        prefixes = ("actor/", "critic/", "rollout_corr/", "timing_s/", "perf/", "throughput/", "checkpoint/failed", "cold_start/")
        for page in PAGES:
            for span in spans(page):
                if re.fullmatch(r"[a-z_]+/[a-z_0-9]+(?:/(?:mean|max|min|std))?", span) and span.startswith(prefixes):
                    if span not in known and re.sub(r"/(mean|max|min|std)$", "", span) not in known:
                        problems.append(f"{page.relative_to(ROOT)}: there is no metric {span}")
        self.check(problems)


@functools.cache
def metrics():
    """Names of metrics among the strings of the sources; those of a score have a prefix, as env/correct."""
    names = {"throughput/model_tflops", "throughput/mfu", "throughput/gen_model_tflops", "throughput/gen_mfu"}
    for path in (ROOT / "trainer").rglob("*.cc"):
        text = path.read_text()
        names |= set(re.findall(r'"([a-z_]+/[a-z_0-9]+(?:/[a-z]+)?)"', text))
        if path.name == "score.cc":
            names |= {f"env/{suffix}" for suffix in re.findall(r'"(?:\{\})?/([a-z_0-9]+)"', text)}
    return names


if __name__ == "__main__":
    unittest.main()
