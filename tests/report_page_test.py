"""Draws a report in a real browser: python3 tests/report_page_test.py build/temper [--screenshots DIR RUN…]

With --screenshots it draws the report of these runs on a wide and a narrow screen, light and dark. 77: no browser.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\"> & ' \""
TEMPER = ""
WORK = Path()


def browse(page, *words):
    with tempfile.TemporaryDirectory(prefix="temper_browser_") as profile:
        return subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--virtual-time-budget=3000", "--enable-logging=stderr", "--v=0", *words, page.as_uri()],
                              capture_output=True, text=True, errors="replace", timeout=120)


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


class Page(unittest.TestCase):
    def draw(self, *runs):
        drawn = browse(report(*runs), "--dump-dom")
        self.assertEqual([line for line in drawn.stderr.splitlines() if "CONSOLE" in line], [])
        return drawn.stdout, Elements(drawn.stdout)

    def test_every_section_and_no_guest(self):
        text, elements = self.draw(run_directory("<b>bold", HOSTILE, 9), run_directory("plain", "trloo", 9))
        self.assertEqual(elements.headings, ["Runs", "Held-out tasks, before → after", "Learning", "Held out", "Speed",
                                             "Where the time went", "Verdicts", "Options"])
        self.assertEqual(elements.title, "<b>bold and 1 more · Temper")
        self.assertEqual(elements.names.count("script"), 2)
        self.assertEqual(elements.names.count("img"), 0)
        self.assertIn("&lt;img src=x onerror=", text)
        self.assertGreater(elements.names.count("path"), 8)

    def test_a_run_without_a_step(self):
        text, elements = self.draw(run_directory("empty", "grpo", 0))
        self.assertIn("no step yet", text)
        self.assertEqual(elements.headings[-1], "Options")


def screenshots(folder, runs):
    page = report(*runs)
    folder.mkdir(parents=True, exist_ok=True)
    for name, size in (("wide", "1360,4000"), ("narrow", "390,6000")):
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
