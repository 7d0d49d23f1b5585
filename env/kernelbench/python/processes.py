"""Starts the processes of Tier 1 without boxes, for tests and people: what the broker does in C++."""
import fcntl
import os
import select
import secrets
import socket
import subprocess
import sys

from channel import Channel
from clock import PAGE, ClockPage

HERE = os.path.dirname(os.path.abspath(__file__))
LEAVE, TAKE_SEGMENT = 0, 2  # reference_main.py's
FIRST = 20  # descriptors of ours lie there, so that none is one of a child's


class Ended(Exception):
    """A process ended instead of answering."""


def high(descriptor):
    """The same under a number of FIRST or more; the given one is closed."""
    number = fcntl.fcntl(descriptor, fcntl.F_DUPFD, FIRST)
    os.close(descriptor)
    return number


class Process:
    """A program of this folder with a socket at descriptor 3 and the others from 4 on."""

    def __init__(self, program, arguments, descriptors):
        ours, theirs = socket.socketpair()
        given = [high(theirs.detach()), *descriptors]
        def settle():
            for to, number in enumerate(given, 3):
                os.dup2(number, to)

        # All other descriptors of ours are closed by exec.
        self.process = subprocess.Popen([sys.executable, "-I", os.path.join(HERE, program), *arguments], close_fds=False, preexec_fn=settle,
                                        stdin=subprocess.DEVNULL, env={**os.environ, "LD_PRELOAD": os.environ.get("TEMPER_SEGMENTS", "")})
        os.close(given[0])
        self.channel = Channel(ours.detach())

    def ask(self, **request):
        self.channel.send(request)
        return self.receive()

    def receive(self):
        return self.receive_with_descriptors()[0]

    def receive_with_descriptors(self):
        try:
            answer, descriptors = self.channel.receive_with_descriptors(2)
        except (EOFError, ConnectionError):
            answer, descriptors = None, []
        if answer is None:
            raise Ended(f"the process ended with {self.process.wait(timeout=20)}")
        return answer, descriptors

    def close(self):
        self.channel.socket.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def new_page():
    page = high(os.memfd_create("clock"))
    os.ftruncate(page, PAGE)
    return page


class Reference(Process):
    """With the exchanges with the baseline and with candidates, as soon as a problem is loaded."""

    def __init__(self, device):
        self.device, page = device, new_page()
        self.exchanges = [high(os.memfd_create("exchange") if device == "cpu" else os.open(os.devnull, os.O_RDWR)) for _ in range(2)]
        self.clock, self.number = ClockPage(page), 0
        super().__init__("reference_main.py", ["--device", device], [*self.exchanges, page])
        os.close(page)
        self.ready = self.receive()
        self.bytes = 0

    def take(self, step):
        """Has it done in a call, of those that reference_main.py lists."""
        self.number += 1
        self.clock.step.value, self.clock.go.value = step, self.number
        self.clock.wait(self.clock.done, self.number, self.channel.hung_up)

    def leave(self):
        """The answer to the call's steps."""
        self.number += 1
        self.clock.step.value, self.clock.go.value = LEAVE, self.number
        return self.receive()

    def load(self, **request):
        self.channel.send({"op": "load", **request})
        answer, descriptors = self.receive_with_descriptors()
        for at, one in enumerate(descriptors):
            os.close(self.exchanges[at])
            self.exchanges[at] = high(one)
        self.bytes = answer.get("exchange_bytes", self.bytes)
        return answer


class Candidate(Process):
    """Or the baseline (exchange 0), with its clock page. `ready` is its first answer."""

    def __init__(self, reference, exchange=1):
        page = new_page()
        self.clock, self.reference, self.exchange, self.party = ClockPage(page), reference, exchange, secrets.token_hex(8)
        super().__init__("candidate_main.py", ["--device", reference.device, "--exchange-bytes", str(reference.bytes)],
                         [reference.exchanges[exchange], page])
        os.close(page)
        self.nonce, self.said = 0, None
        self.ready = None

    def wait_ready(self):
        if self.ready is None:
            self.ready = self.receive()
        return self.ready

    def arm(self, place, own_time=False):
        self.nonce += 1
        return self.ask(op="arm", inputs=place["inputs"], outputs=place["outputs"], nonce=self.nonce, own_time=own_time)

    def has(self, word, spins):
        """Whether it has written the armed call's number there, looked at so many times."""
        return any(word.value == self.nonce for _ in range(spins))

    def pass_on(self):
        """Gives the reference what it has said meanwhile. Whether that was a segment; what else it was is kept for receive()."""
        told, descriptors = self.receive_with_descriptors()
        if told.get("status") != "segment":
            self.said = told
            return False
        self.reference.channel.send(told, descriptors)
        for one in descriptors:
            os.close(one)
        self.reference.take(TAKE_SEGMENT)
        return True

    def receive(self):
        said, self.said = self.said, None
        return super().receive() if said is None else said

    def places(self):
        """Where its results lie, handed on to the reference."""
        self.reference.clock.places[:] = self.clock.places[:]

    def heard(self):
        """Whether it has said something, or cannot any more."""
        return self.process.poll() is not None or bool(select.select([self.channel.socket], [], [], 0)[0])
