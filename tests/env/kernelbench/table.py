"""candidates/README.md: all candidate files with what is expected of them and why. table.py writes it."""
from headers import HERE, headers

TITLE = """# Candidates with their verdicts

Written by `table.py` from the first comments of each file; `headers.py` says what they mean. `references, triton, cuda`: each problem's
right ones. `controls`: honest ones of unusual form. `gallery`: must not pass. `harmless`: may pass, and gain nothing. The classic cheats of
each problem are made by `cheats.py FOLDER`.

| file | problem | strict | comparable | why |
|---|---|---|---|---|
"""


def row(path):
    said = headers(path.read_text())
    strict = said["strict"].replace("|", "or")
    if "ungated" in said:
        strict += f"; without the gate {said['ungated'].replace('|', 'or')}"
    more = "".join(f"; {name.replace('_', ' ')} {said[name]}" for name in ("speedup_below", "share_below") if name in said)
    where = "".join(f" ({word})" for word in (said.get("runs_on"), said.get("needs"), "slow" if "slow" in said else None) if word)
    return f"| {path.parent.name}/{path.stem} | {said['problem'].removesuffix('.py')}{where} | {strict}{more} | {said['comparable']} | {said['why']} |\n"


def main():
    paths = sorted((HERE / "candidates").glob("*/*.py"), key=lambda path: (path.parent.name.startswith("level"), path))
    (HERE / "candidates/README.md").write_text(TITLE + "".join(row(path) for path in paths))


if __name__ == "__main__":
    main()
