"""What judges: brokers, runners, oracles and ranks that judge for others are killed, stopped, replaced, or talk nonsense."""

import math
import os
import signal
import sys
import time

import jobs
from patience import PATIENCE_S

from .harness import case, children, expect
from .runs import ended, lines_of, preload, programs, replace, start, task_and_candidate, temper, wait_for_step

# A broker between the judge and the real one. What the real one says passes through `change`, which gives a list of
# messages for each; `number` counts them, the first being its greeting.
PROXY = """#!{python} -SE
import os, socket, struct, subprocess, sys, threading, time
judge = socket.socket(fileno=3)
ours, theirs = socket.socketpair()
real = subprocess.Popen([{real!r}], close_fds=False, preexec_fn=lambda: os.dup2(theirs.fileno(), 3))
theirs.close()
def take(source, count):
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            os._exit(0)
        data += more
    return data
def message(source):
    return take(source, struct.unpack("<I", take(source, 4))[0])
def say(to, data):
    to.sendall(struct.pack("<I", len(data)) + data)
def change(number, text):
{change}
def forward():
    while True:
        say(ours, message(judge))
threading.Thread(target=forward, daemon=True).start()
number = 0
while True:
    for text in change(number, message(ours)):
        say(judge, text)
    number += 1
"""


def proxy(change):
    lines = "\n".join("    " + line for line in change.strip().splitlines())
    return PROXY.format(python=sys.executable, real=str(jobs.BUILD / "temper-broker"), change=lines)


def kill_named(run, name, sent=signal.SIGKILL, patience=PATIENCE_S):
    """One of the run's processes of that name."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and run[0].poll() is None:
        for pid, its in children(run[0].pid).items():
            if its == name[:15]:
                os.kill(pid, sent)
                return pid
    raise AssertionError(f"no {name} seen: {jobs.wait_all(run, 1).text if run[0].poll() is not None else ''}")


def goes_on_without(name, sent, its_name, quick=False):
    @case(name=its_name, quick=quick)
    def _(folder):
        """The judge starts it again, what it held is judged by another, and the run comes to its end."""
        run = start(folder / "run", "run.steps=8")
        wait_for_step(folder / "run", 2, run)
        kill_named(run, name, sent)
        ended(run, 0)


goes_on_without("temper-broker", signal.SIGKILL, "broker killed", quick=True)
goes_on_without("temper-oracle", signal.SIGKILL, "oracle killed", quick=True)
goes_on_without("temper-runner", signal.SIGKILL, "runner killed")
goes_on_without("temper-runner", signal.SIGSTOP, "runner stopped")
goes_on_without("temper-oracle", signal.SIGSTOP, "oracle stopped")


@case(limit=150)
def broker_stopped(folder):
    """A broker that does not answer is killed at its deadline and started again, and the run comes to its end."""
    run = start(folder / "run", "run.steps=5", "env.compile_timeout_s=1", "env.run_timeout_s=1")
    wait_for_step(folder / "run", 2, run)
    kill_named(run, "temper-broker", signal.SIGSTOP)
    ended(run, 0, within=130)


@case
def every_broker_killed_as_soon_as_it_is_there(folder):
    """A run whose judge is killed again and again ends, with 3 and the lane's words, or comes to its end where now and then a
    verdict comes through; it never waits for ever."""
    run = start(folder / "run", "run.steps=150", "env.lanes=2")
    wait_for_step(folder / "run", 2, run)
    deadline = time.monotonic() + 80
    while run[0].poll() is None and time.monotonic() < deadline:
        for pid, name in children(run[0].pid).items():
            if name == "temper-broker":
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        time.sleep(0.02)
    done = jobs.wait_all(run, 20)
    expect(done.codes[0] == 0 or done.codes[0] == 3 and "broker" in done.text, f"{done.codes} {done.text}")


@case
def brokers_killed_now_and_then(folder):
    """Two lanes, one of which is killed each second: the run comes to its end, and no figure is lost."""
    run = start(folder / "run", "run.steps=10", "env.lanes=2")
    wait_for_step(folder / "run", 1, run)
    killed = 0
    while run[0].poll() is None and killed < 30:
        time.sleep(1)
        for pid, name in children(run[0].pid).items():
            if name == "temper-broker":
                os.kill(pid, signal.SIGKILL)
                killed += 1
                break
    ended(run, 0)
    expect(killed > 0, "nothing was killed")
    expect([line["step"] for line in lines_of(folder / "run") if "actor/pg_loss" in line] == list(range(1, 11)))


def at_the_start(name, text, said, code=3):
    @case(name=name, needs=())
    def _(folder):
        """A judge that cannot start ends the command with 3 and says what the broker did, within seconds."""
        done = temper("judge", *task_and_candidate(), "tasks.path=tests/gallery/tasks.yaml", code=code, said=said, within=20,
                      program=programs(folder, temper_broker=text))
        expect(len(done.text) < 2000, done.text)


at_the_start("broker gone", None, "cannot start")
at_the_start("broker that ends at its start", "#!/bin/sh\nexit 7\n", "ended with code 7")
at_the_start("broker that is killed at its start", "#!/bin/sh\nkill -9 $$\n", "killed by signal 9")
at_the_start("broker that floods with nothing", "#!/bin/sh\nexec cat /dev/zero >&3\n", "broker")
at_the_start("broker that floods with noise", "#!/bin/sh\nexec cat /dev/urandom >&3\n", "broker")
at_the_start("broker that says a line of text", "#!/bin/sh\necho 'hello, world, this is text' >&3\nexec sleep 100\n", "broker")
at_the_start("broker that is no program", "neither a script nor ELF\n", "cannot start")
at_the_start("broker that greets with closed brackets", proxy("return [b'[' * 100000 + b']' * 100000]"), "broker")


def helper_gone(program, said):
    @case(name=f"{program} gone", needs=())
    def _(folder):
        """The command ends with 3 and names the program and its path; no candidate is blamed."""
        done = temper("judge", *task_and_candidate(), "tasks.path=tests/gallery/tasks.yaml", code=3, said=said, within=30,
                      program=programs(folder, **{program.replace("-", "_"): None}))
        expect("FAIL_" not in done.text, done.text)


helper_gone("temper-runner", "temper-runner")
helper_gone("temper-oracle", "temper-oracle")


def replaced_meanwhile(name, text, said=("broker",)):
    @case(name=name, limit=110)
    def _(folder):
        """Where the judge's program is replaced during a run and its processes end, the run ends with 3 and the lane's words
        after six starts in vain; what is judged meanwhile is INFRA at once."""
        program = programs(folder)
        run = start(folder / "run", "run.steps=100000", program_of=lambda rank: program)
        wait_for_step(folder / "run", 2, run)
        replace(program.parent / "temper-broker", text)
        kill_named(run, "temper-broker")
        ended(run, 3, said=said, within=80)


replaced_meanwhile("broker replaced during a run by one that ends", "#!/bin/sh\nexit 5\n", ("ended with code 5",))
replaced_meanwhile("broker deleted during a run", None, ("cannot start",))
replaced_meanwhile("broker replaced during a run by one that floods", "#!/bin/sh\nexec cat /dev/zero >&3\n")


def expect_finite_figures(directory):
    for line in lines_of(directory):
        for key, value in line.items():
            expect(not isinstance(value, float) or math.isfinite(value), f"{key} is {value}")


def nonsense(what, instead, becomes, numbers=(3,), code=0, said=(), words=()):
    """A broker `what`, which says `instead`, a list of messages, in the place of its messages of these numbers (None: of every
    verdict)."""
    at_its_time = "number" if numbers is None else f"number in {numbers}"

    def body(folder):
        program = programs(folder, temper_broker=proxy(f"return {instead} if {at_its_time} else [text]"))
        run = start(folder / "run", "run.steps=5", *words, program_of=lambda rank: program)
        ended(run, code, said=said, within=100)
        expect_finite_figures(folder / "run")
    body.__doc__ = f"{becomes}; the run comes to its end{f' with {code}' if code else ''}, and its figures are finite."
    case(name=f"broker {what}")(body)


def with_field(name, value):
    """Of a broker's message: another value of a field."""
    return f"""[text.replace(b'"{name}":', b'"{name}":{value},"x":')]"""


ENDS_OR_INFRA = "It ends that broker, which is started again, or is INFRA"
nonsense("whose third verdict has a speedup of NaN", with_field("speedup", "null"), "A verdict that cannot be is INFRA")
nonsense("whose third verdict has a time of 1e999", with_field("candidate_us", "1e999"), ENDS_OR_INFRA)
nonsense("whose third verdict is of an unknown kind", """[text.replace(b'"kind":"', b'"kind":"SUPER_')]""", ENDS_OR_INFRA)
nonsense("that answers twice", "[text, text]", "An answer to nothing ends that broker, which is started again; no verdict is another's", (3, 4))
nonsense("that answers with nothing", "[b'']", ENDS_OR_INFRA)
nonsense("that answers with noise", "[b'\\1' + os.urandom(3000)]", ENDS_OR_INFRA)
nonsense("that announces 4 GB", "judge.sendall(struct.pack('<I', 0xfffffff0)) or [text]",
         "A size that no message has ends that broker, which is started again")
nonsense("that ends in half a message", "judge.sendall(struct.pack('<I', len(text)) + text[:5]) or os._exit(4)",
         "The candidate is judged again by the broker that is started")
nonsense("whose verdicts are all NaN", with_field("candidate_us", "null"), "A run that learns from nothing says that none could be judged",
         None, code=3, said=("could be judged",), words=("run.steps=100000",))


# --------------------------------------------------------------------------------------------------------- ranks that judge for others

# Every message of this process that holds CASE_TEXT holds CASE_INSTEAD, of the same length, from the CASE_FROM-th on.
ALTERED_MESSAGES = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
ssize_t send(int fd, const void* data, size_t size, int flags) {
  static long came;
  const char* text = getenv("CASE_TEXT");
  char* found = text ? memmem(data, size, text, strlen(text)) : NULL;
  if (found && ++came >= atol(getenv("CASE_FROM"))) memcpy(found, getenv("CASE_INSTEAD"), strlen(text));
  return ((__typeof__(&send))dlsym(RTLD_NEXT, "send"))(fd, data, size, flags);
}
"""


def altered_judge(name, text, instead, holds, codes=(0, None), first=3, said=(), words=()):
    def body(folder):
        assert len(text) == len(instead)
        library = preload(folder, ALTERED_MESSAGES)
        change = {"LD_PRELOAD": library, "CASE_TEXT": text, "CASE_INSTEAD": instead, "CASE_FROM": str(first)}
        run = start(folder / "run", "run.steps=4", "ranks.env=1", *words, count=2, of_rank=lambda rank: change if rank else {})
        ended(run, *codes, said=said, within=60)
        expect_finite_figures(folder / "run")
    body.__doc__ = holds
    case(name=name)(body)


altered_judge("judging rank whose verdicts are no verdicts", '"candidate_us":', '"candidate_xx":', codes=(3, 3), first=1, said="is not a verdict",
              holds="A rank that judges and sends what is no verdict is asked no more; where it was the last, the run ends with 3 and says why.")
altered_judge("judging rank that breaks its JSON", '"reason":', '"reason"}', codes=(3, 3), first=1, said="is not a verdict",
              holds="A rank that judges and sends broken JSON is asked no more; where it was the last, the run ends with 3 and says why.")


def lost_judge(name, fault, codes, said):
    @case(name=name)
    def _(folder):
        """With one of two judging ranks lost the others go on, and rank 0 says once which is lost; nothing becomes INFRA."""
        run = start(folder / "run", "run.steps=6", "ranks.env=2", count=3,
                    of_rank=lambda rank: {"TEMPER_FAULT": fault} if rank == 1 else {})
        ended(run, *codes, said=said, within=60)
        expect(not [line for line in lines_of(folder / "run") if line.get("env/verdict/INFRA")], "INFRA")


lost_judge("judging rank killed", "judging round:kill@30", (0, -9, 0), "was killed or crashed in judging for others")


@case
def last_judging_rank_killed(folder):
    """The run ends with 3 and says that no judge is left."""
    run = start(folder / "run", "run.steps=1000", "ranks.env=1", count=2,
                of_rank=lambda rank: {"TEMPER_FAULT": "judging round:kill@30"} if rank else {})
    ended(run, 3, -9, said="no judge is left")
