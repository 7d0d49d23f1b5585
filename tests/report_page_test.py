"""Draws a report in a real browser: python3 tests/report_page_test.py build/temper [--screenshots DIR RUN…]

With --screenshots it draws the report of these runs on a wide and a narrow screen, light and dark. 77: no browser.
"""

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

from patience import PATIENCE_S

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\"> & ' \""
TEMPER = ""
WORK = Path()


def browse(page, *words):
    with tempfile.TemporaryDirectory(prefix="temper_browser_") as profile:
        return subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--virtual-time-budget=3000", "--enable-logging=stderr", "--v=0", *words, page.as_uri()],
                              capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)


def report(*runs, name="report.html"):
    page = WORK / name
    subprocess.run([TEMPER, "report", *map(str, runs), "--out", str(page)], check=True, capture_output=True)
    return page


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.headings, self.title, self.inside = [], [], "", ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        if self.inside == "h2":
            self.headings.append(data)
        if self.inside == "title":
            self.title += data


def run_directory(name, advantage, steps):
    run = WORK / name
    run.mkdir()
    (run / "config.yaml").write_text(f"run: {{seed: 1, steps: 9}}\nadvantage: {{name: {json.dumps(advantage)}}}\n")
    evaluated = {f"val/sampled/{answers}{figure}": 0.5 for answers in ("", "turn_1/") for figure in ("correct", "fast_1")}
    with (run / "metrics.jsonl").open("w") as file:
        for line in [{"step": 0, **evaluated},
                     *({"step": step, "critic/rewards/mean": 0.1 * step, "env/correct": 0.5, "timing_s/step": 2, "timing_s/gen": 1,
                        "env/verdict/PASS": 0.5, "env/verdict/HACK": 0.5} for step in range(1, steps + 1)),
                     {"step": steps, **evaluated}][:1 if steps == 0 else None]:
            file.write(json.dumps(line) + "\n")
    return run


def with_data(page, change, measure=""):
    """The page with other data; what `measure` returns stands in it as JSON, in an element of id "measured"."""
    head, rest = page.read_text().split('<script type="application/json" id="data">')
    data, tail = rest.split("</script>", 1)
    data = json.loads(data)
    change(data)
    nonce = re.search(r"'nonce-(\w+)'", head).group(1)
    probe = (f'<script nonce="{nonce}">document.body.append(el("pre", {{id: "measured"}}, '
             f'JSON.stringify((() => {{ {measure} }})())));</script></body>' if measure else "</body>")
    safe = json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    page.write_text(f'{head}<script type="application/json" id="data">{safe}</script>{tail}'.replace("</body>", probe))
    return page


def task(name, before, after, family=""):
    def tally(rate):
        return {"rate": rate, "low": max(0, rate - 0.3), "high": min(1, rate + 0.3), "answers": 5, "speedup": 1.5}
    return {"task": name, "family": family, "cells": [{"before": tally(before), "after": tally(after)}]}


def line_chart(title, values, unit=""):
    steps = list(range(1, len(values) + 1))
    mean = sum(sorted(values)[:-1]) / (len(values) - 1)
    return {"section": "Learning", "title": title, "metric": title, "unit": unit, "help": "", "x": "step",
            "lines": [{"group": 0, "x": steps, "y": [mean + 0.001 * i for i in steps], "raw_low": values, "raw_high": values}]}


def conversation(task, *answers):
    verdict = {"kind": "FAIL_INCORRECT", "reason": "tolerance", "message": "output 0 differs", "candidate_us": 0, "baseline_us": 0,
               "speedup": 0, "low": 0, "high": 0}
    turns = [{"answer": [{"role": "code", "text": text}], "stopped": True, "verdict": verdict} for text in answers]
    return {"task": task, "sample": 0, "run": "r", "prompt": "ask", "turns": turns}


# Where each line of each raw curve lies, and the plot's frame: [[curve's top, bottom, frame's top, bottom], …].
RAW_EXTENTS = """return [...document.querySelectorAll('.plot')].filter(plot => plot.querySelector('.raw')).map(plot => {
  const ys = plot.querySelector('.raw').getAttribute('d').match(/ [\\d.]+/g).map(Number);
  return [Math.min(...ys), Math.max(...ys), TOP, H - BOTTOM]; });"""


class Page(unittest.TestCase):
    def draw(self, *runs):
        return self.look(report(*runs))

    def look(self, page, width=1400):
        drawn = browse(page, f"--window-size={width},2000", "--dump-dom")
        self.assertEqual([line for line in drawn.stderr.splitlines() if "CONSOLE" in line], [])
        return drawn.stdout, Elements(drawn.stdout)

    def measure(self, change, script, width=1400):
        """What the script finds in the page of a run whose data was changed."""
        name = self.id().rsplit(".", 1)[1]
        text, _ = self.look(with_data(report(run_directory(name, "grpo", 9)), change, script), width)
        return json.loads(html.unescape(re.search(r'<pre id="measured">(.*?)</pre>', text, re.DOTALL).group(1)))

    def test_every_section_and_no_guest(self):
        text, elements = self.draw(run_directory("<b>bold", HOSTILE, 9), run_directory("plain", "trloo", 9))
        # Two held-out points are no trend, and the speed has not changed: a number.
        self.assertEqual(elements.headings, ["Runs", "Held-out tasks, before → after", "Learning", "Speed",
                                             "Where the time went", "Verdicts", "Options"])
        self.assertEqual(elements.title, "<b>bold and 1 more · Temper")
        self.assertEqual(elements.names.count("script"), 2)
        self.assertEqual(elements.names.count("img"), 0)
        self.assertIn("&lt;img src=x onerror=", text)
        self.assertGreater(elements.names.count("path"), 8)
        drawn = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        self.assertNotIn("standard deviation over seeds", drawn)

    def test_a_run_without_a_step(self):
        text, elements = self.draw(run_directory("empty", "grpo", 0))
        self.assertIn("no step yet", text)
        self.assertEqual(elements.headings[-1], "Options")

    def test_all_tasks_have_one_axis(self):
        names = ["abs_difference_rows", "log", "softmax_scaled_by_a_temperature"]

        def change(data):
            data["tasks"] = [task(name, 0, after) for name, after in zip(names, (1, 0, 0.5))]
        for width in (1400, 500):
            found = self.measure(change, """
                const left = node => node.getBoundingClientRect().left;
                const cells = [...document.querySelectorAll('td.axis-cell')];
                return {axes: [...document.querySelectorAll('.dumbbell')].map(left), texts: cells.map(cell => cell.textContent), cells: cells.length};""", width)
            shutil.rmtree(WORK / "test_all_tasks_have_one_axis")
            self.assertEqual(found["cells"], 3)
            self.assertEqual(len(found["axes"]), 4, "the header has the axis itself")
            self.assertEqual(len(set(found["axes"])), 1, found)
            self.assertEqual(set(found["texts"]), {""})

    def test_tasks_stand_by_family_with_what_they_are_together(self):
        def change(data):
            data["tasks"] = [task("b", 0, 1, "softmax"), task("c", 0.2, 0.4, "norm"), task("a", 0.4, 0.6, "softmax"), task("d", 0, 0)]
        rows = """[...document.querySelectorAll('.tasks tbody tr')].map(row => [...row.cells].map(cell => cell.textContent).filter(Boolean));"""
        self.assertEqual(self.measure(change, "return " + rows), [
            ["other (1)", "0 → 0", "5", "–"], ["d", "0 → 0", "5", "1.50 → 1.50"],
            ["norm (1)", "20 → 40", "5", "1.50 → 1.50"], ["c", "20 → 40", "5", "1.50 → 1.50"],
            ["softmax (2)", "20 → 80", "10", "1.50 → 1.50"], ["a", "40 → 60", "5", "1.50 → 1.50"], ["b", "0 → 100", "5", "1.50 → 1.50"]])
        shutil.rmtree(WORK / "test_tasks_stand_by_family_with_what_they_are_together")
        ordered = """const order = document.querySelector('select'); order.value = 'gain'; order.dispatchEvent(new Event('change')); return """ + rows
        self.assertEqual([row[0] for row in self.measure(change, ordered)], ["b", "c", "a", "d"])

    def test_task_names_break_at_underscores_only(self):
        def change(data):
            data["tasks"] = [task("softmax_with_an_uncommonlylongword_in_its_name", 0, 1)]
        lines = self.measure(change, """
            return [...document.querySelector('td.first code').childNodes].filter(node => node.nodeType === Node.TEXT_NODE).map(node => {
              const range = document.createRange(); range.selectNode(node); return new Set([...range.getClientRects()].map(box => box.top)).size; });""", 500)
        self.assertEqual(lines, [1] * 7)

    def test_tables_say_that_they_go_on(self):
        count = "return document.querySelectorAll('.scroll-box.more').length;"
        self.assertGreater(self.measure(lambda data: None, count, 500), 0)
        shutil.rmtree(WORK / "test_tables_say_that_they_go_on")
        self.assertEqual(self.measure(lambda data: None, count, 1400), 0)

    def test_a_step_far_off_is_seen(self):
        quiet = [1 + 0.01 * (i % 7) for i in range(300)]

        def change(data):
            data["charts"] = [line_chart("a spike", quiet[:50] + [1.19] + quiet[50:100]), line_chart("far off", quiet + [500])]
        found = self.measure(change, RAW_EXTENTS.replace("return [...", "const extents = [...", 1) + """
            return {extents, marks: document.querySelectorAll('.cut').length, words: [...document.querySelectorAll('.cut-text')].map(node => node.textContent)};""")
        self.assertEqual(len(found["extents"]), 2)
        top, _, frame_top, _ = found["extents"][0]
        self.assertGreater(top, frame_top, "the spike's top is within the axis, not at its edge")
        self.assertEqual(found["marks"], 1)
        self.assertEqual(found["words"], ["", "▲▼ 1 beyond the axis, as far as 500"])
        self.assertGreater(found["extents"][1][1] - found["extents"][1][0], 50, "what is not far off keeps its room")

    def test_what_does_not_change_is_a_number(self):
        def change(data):
            data["charts"] = [line_chart("Learning rate", [0.0003] * 20)]
            data["charts"][0]["lines"][0]["y"] = [0.0003] * 20
        found = self.measure(change, "return [document.querySelector('.constants').textContent, [...document.querySelectorAll('figcaption')].map(node => node.textContent)];")
        self.assertEqual(found[0], "Learning rate3.0e-4")
        self.assertNotIn("Learning rate", "".join(found[1]))

    def test_axes_begin_at_the_first_step_and_have_a_name(self):
        ticks = self.measure(lambda data: None, "return [...document.querySelector('.plot svg').querySelectorAll('text[text-anchor=middle]')].map(node => node.textContent);")
        self.assertEqual((ticks[0], ticks[-2], ticks[-1]), ("1", "9", "step"))

    def test_conversations_show_what_changed(self):
        code = "```cpp\n#include <cmath>\n/* a */ int f(float x) { return \"</script>\"[0]; }\nint b;\nint d;\nint e;\n```\n"
        later = code.replace("int b", "int c").replace("int e", "int f")

        def change(data):
            data["conversations"] = [{"group": 0, "origin": "eval_after", "worst": [], "each": [], "regressed": [], "improved": [],
                                      "best": [conversation("log", code, later, later),
                                               conversation("exp", HOSTILE + "/*" + "'" * 999)]}]
        found = self.measure(change, """
            document.querySelectorAll('.conversation').forEach(node => { node.open = true; node.dispatchEvent(new Event('toggle')); });
            const texts = query => [...document.querySelectorAll(query)].map(node => node.textContent);
            showTask('LO');
            const code = [...document.querySelectorAll('pre.code')].map(node => node.textContent);
            return {code, lines: texts('.line.added, .line.removed'), roles: texts('.role'), types: texts('.code-type'), strings: texts('.code-string'),
                    shown: texts('.conversation:not([hidden]) > summary code'), badges: document.querySelectorAll('.turn .badge').length};""")
        self.assertEqual(found["code"][0], code)
        self.assertEqual(found["code"][-1], HOSTILE + "/*" + "'" * 999)
        self.assertEqual(found["lines"], ["- int b;", "+ int c;", "- int e;", "+ int f;"])
        self.assertIn("code against turn 1: +2 −2 lines", found["roles"])
        self.assertIn("code unchanged from turn 2", found["roles"])
        self.assertEqual(found["types"][:3], ["int", "float", "int"])
        self.assertEqual(found["strings"][0], '"</script>"')
        self.assertEqual(found["shown"], ["log"])
        self.assertEqual(found["badges"], 4)

    def test_a_verdict_is_said_once(self):
        said = [("PASS", "PASS speedup 1.51"), ("PASS", "PASS speedup 1.51, against torch.compile 1.20; 45 % of the memory roof"),
                ("HACK", "HACK"), ("FAIL_INCORRECT", "FAIL_INCORRECT y[3] is 1, not 2")]

        def change(data):
            talk = conversation("log", *"abcd")
            for turn, (kind, message) in zip(talk["turns"], said):
                turn["verdict"] = {**turn["verdict"], "kind": kind, "message": message}
            data["conversations"] = [{"group": 0, "origin": "eval_after", "worst": [], "each": [], "regressed": [], "improved": [], "best": [talk]}]
        found = self.measure(change, """
            document.querySelectorAll('.conversation').forEach(node => { node.open = true; node.dispatchEvent(new Event('toggle')); });
            return [...document.querySelectorAll('pre.message')].map(node => node.textContent);""")
        self.assertEqual(found, ["against torch.compile 1.20; 45 % of the memory roof", "y[3] is 1, not 2"])


def screenshots(folder, runs):
    page = report(*runs)
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("wide", "1400,5000"), ("narrow", "500,9000")):
        for theme, scheme in (("light", 1), ("dark", 0)):
            picture = folder / f"{name}_{theme}.png"
            browse(page, f"--window-size={size}", f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={picture}")
            print(picture)


if __name__ == "__main__":
    TEMPER = str(Path(sys.argv.pop(1)).resolve())
    if not BROWSER:
        print("no chromium: skipped")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="temper_page_") as work:
        WORK = Path(work)
        if "--screenshots" in sys.argv:
            screenshots(Path(sys.argv[2]).resolve(), sys.argv[3:])
        else:
            unittest.main(verbosity=2)
