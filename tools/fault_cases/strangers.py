"""What strangers send to ports and write into files."""

import json
import os
import random
import re
import socket
import struct
import time

import attack_cases
import attack_files
import jobs

from .harness import case, expect
from .runs import ended, lines_of, start, temper, wait_until


def to_ports(name, talk, holds):
    def body(folder):
        run = start(folder / "run", "run.steps=15", "ranks.env=1", count=3)
        wait_until(lambda: any(jobs.listening(rank.pid) for rank in run), run, "a port")
        sockets, until = [], time.monotonic() + 25
        while time.monotonic() < until and all(rank.poll() is None for rank in run):
            for rank in run:
                for _, port in jobs.listening(rank.pid):
                    talk(port, sockets)
            time.sleep(0.05)
        ended(run, 0, 0, 0, within=60)
        expect([line["step"] for line in lines_of(folder / "run") if "actor/pg_loss" in line] == list(range(1, 16)))
        for one in sockets:
            one.close()
    body.__doc__ = holds
    case(name=name)(body)


def connect(port):
    one = socket.socket()
    one.settimeout(0.3)
    try:
        one.connect(("127.0.0.1", port))
        return one
    except OSError:
        one.close()
        return None


def say(what):
    def talk(port, sockets):
        if one := connect(port):
            try:
                one.sendall(what())
            except OSError:
                pass
            one.close()
    return talk


def keep_open(port, sockets):
    if len(sockets) < 400 and (one := connect(port)):
        sockets.append(one)


def half(port, sockets):
    if len(sockets) < 100 and (one := connect(port)):
        try:
            one.sendall(struct.pack("<I", 100) + b"half")
        except OSError:
            pass
        sockets.append(one)


GOES_ON = "A job of three ranks, one of which judges, comes to its end all the same, with every step."
to_ports("ports: noise", say(lambda: random.randbytes(5000)), GOES_ON)
to_ports("ports: a browser", say(lambda: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), GOES_ON)
to_ports("ports: sizes of 4 GB", say(lambda: b"\xff" * 64), GOES_ON)
to_ports("ports: many connections that say nothing", keep_open, GOES_ON)
to_ports("ports: half messages", half, GOES_ON)
to_ports("ports: brackets", say(lambda: struct.pack("<I", 60000) + b"[" * 60000), GOES_ON)


# ------------------------------------------------------------------------------------------------------------------------- files

def of_the_attacks(name, pattern, holds):
    """Some of the files that tests/attack_cases makes."""
    def body(folder):
        chosen = [one for one in attack_cases.CASES if re.search(pattern, one.name)]
        expect(chosen, f"no file is called like {pattern}")
        work = folder / "files"
        work.mkdir()
        with attack_files.Starters() as starters:
            usual = attack_files.usual_cost(jobs.BUILD / "temper", work, starters)
            for one in chosen:
                result, found = attack_files.attempt(jobs.BUILD / "temper", work, one, usual[tuple(one.command)], starters)
                found = [text for text in found if " s more than good files" not in text]
                expect(not found, f"{one.name}: {found}\n{result.text[:300]}")
    body.__doc__ = holds
    case(name=name, needs=())(body)


REFUSED = "Each is refused with 2 and words that say where, in seconds and some hundred MiB, and nothing is written."
of_the_attacks("a hostile map of characters in tokenizer.model", r"tokenizer.model: (a map of|the same)", REFUSED)
of_the_attacks("closed brackets by the hundred thousand in JSON", r"closed brackets", REFUSED)
of_the_attacks("headers of safetensors", r"NUL|byte order|BOM|__metadata__|polyglot|twice", REFUSED)
of_the_attacks("weights that are not finite in a file", r"(?i)nan|inf(inity)?\b",
               "They are counted and said where nothing is learned from them.")
of_the_attacks("aliases of aliases in YAML", r"task: (an alias|aliases)", REFUSED)
of_the_attacks("a Latin-1 byte in a task", r"Latin-1", REFUSED)
of_the_attacks("files that shrink or are no files", r"shrink|cut|/dev/zero|fifo|pipe", REFUSED)


@case
def a_run_whose_config_is_an_alias_of_itself(folder):
    """`report` of such a run, and of one with aliases that never end, is refused with words within seconds."""
    ended(start(folder / "run", "run.steps=2"), 0)
    config = folder / "run/config.yaml"
    bombs = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 40))
    for text in ("run: &a {b: *a}\n", "a0: &a0 [1, 1]\n" + bombs, "[" * 200_000, "run: {steps: 1e300}\n"):
        config.write_text(text)
        done = temper("report", folder / "run", within=20)
        expect(done.code in (0, 2, 3) and len(done.text) < 4000, f"{done.code} {done.text[:400]}")


@case
def trajectories_that_are_damaged(folder):
    """`show` and `report` of trajectories with flipped, missing or hostile bytes end with a code and words, never a crash."""
    ended(start(folder / "run", "run.steps=2"), 0)
    file = folder / "run/trajectories/step_000001.safetensors"
    good, chosen = file.read_bytes(), random.Random(3)
    length = struct.unpack("<Q", good[:8])[0]
    header = json.loads(good[8:8 + length])
    for number in range(24):
        data = bytearray(good)
        if number < 8:
            data[chosen.randrange(8 + length)] ^= 1 << chosen.randrange(8)
        elif number < 16:
            data[chosen.randrange(8 + length, len(data))] ^= 1 << chosen.randrange(8)
        elif number < 22:
            data = data[:chosen.randrange(len(data))]
        else:
            name = next(key for key in header if key != "__metadata__" and "id" in key)
            begin, end = header[name]["data_offsets"]
            data[8 + length + begin:8 + length + end] = b"\x7f" * (end - begin)
        file.write_bytes(data)
        for command in (["show", folder / "run", "1"], ["show", folder / "run", "1", "--json"]):
            done = temper(*command, within=20)
            expect(done.code in (0, 2, 3), f"change {number}: {done.code} {done.text[-400:]}")
            expect(done.code == 0 or done.text.strip(), f"change {number}: not a word")


@case
def metrics_that_are_damaged(folder):
    """`report` of metrics with broken, huge and hostile lines ends with a code and words or a page, never a crash."""
    ended(start(folder / "run", "run.steps=2"), 0)
    metrics = folder / "run/metrics.jsonl"
    good = metrics.read_text()
    for line in ('{"step": 1e300}', "[" * 100_000, '{"step": "x"}', '{"step": 3, "actor/entropy": null}', "\0\0\0", "null", '"text"',
                 '{"step": -5}', '{"step": 9223372036854775807}', '{"step": 18446744073709551615, "x": 1}'):
        metrics.write_text(good + line + "\n")
        done = temper("report", folder / "run", within=20)
        expect(done.code in (0, 2, 3) and (done.code == 0 or done.text.strip()), f"{line[:40]}: {done.code} {done.text[-400:]}")
        expect(len(done.text) < 4000, f"{line[:40]}: {len(done.text)} bytes of message")


@case(needs=(jobs.model,))
def a_model_that_is_replaced_while_it_is_read(folder):
    """Weights that shrink or change under the reader are an error with words, not SIGBUS."""
    model = folder / "model"
    os.makedirs(model)
    for path in jobs.model().iterdir():
        (model / path.name).write_bytes(path.read_bytes())
    file = model / "model.safetensors"
    good = file.read_bytes()
    for size in (0, 7, 8, len(good) // 2, len(good) - 1):
        file.write_bytes(good[:size])
        done = temper("export", model, folder / f"out{size}", within=20)
        expect(done.code in (2, 3) and "model.safetensors" in done.text, f"{size}: {done.code} {done.text}")


@case
def answers_that_no_tokenizer_wrote(folder):
    """Whole answers with noise, NUL bytes, a million fences or an endless line are judged as what they are: 1 with FAIL_PARSE
    or what the compiler says, within seconds."""
    chosen = random.Random(5)
    for number, text in enumerate((b"", b"\0" * 1000, chosen.randbytes(100_000), b"```cpp\n" * 300_000, b"`" * 2_000_000,
                                   b"<think>" * 100_000, b"```cpp\nint x = " + b"(" * 100_000 + b"\n```\n", b"\xff\xfe" * 1000)):
        path = folder / f"answer{number}.md"
        path.write_bytes(text)
        done = temper("judge", "scale_rows_relu", path, within=30)
        expect(done.code in (1, 2) and len(done.text) < 30_000, f"answer {number}: {done.code} {done.text[-300:]}")
