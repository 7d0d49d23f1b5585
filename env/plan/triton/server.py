"""The parent: forks a child for each request, watches it, and passes its reply on. It runs no candidate's code."""
import json
import mmap
import os
import select
import shutil
import signal
import socket
import tempfile
import time

import child
from planning import failure
from frames import frame, read_frame, read_reply
from refusal import MAX_DETAILS, shortened, without_paths

MAX_OUTPUT_BYTES = 64 << 10  # kept of what a candidate prints
END_S = 2  # for a child that has closed its pipe to end, so that it is known how
LOOK_S = 0.2  # how often a child is looked at whose pipes stay open
ABORTED = 128 + signal.SIGABRT  # how a locked up process ends that calls abort()
CPU_SIGNALS = (signal.SIGXCPU,)


class HungUp(Exception):
    """Nobody waits for the reply any more."""


class Pipe:
    """The reading end of a pipe, of which at most `limit` bytes are kept."""

    def __init__(self, limit):
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.limit, self.data, self.open, self.too_long = limit, bytearray(), True, False

    def drain(self):
        """Reads what is there."""
        while self.open:
            try:
                part = os.read(self.reader, 1 << 16)
            except BlockingIOError:
                return
            self.open = bool(part)
            room = self.limit - len(self.data)
            self.too_long |= len(part) > room
            self.data += part[:room]
            if self.too_long:
                return  # what is beyond the limit is left to the next look, so that a flood holds nobody up

    def close(self):
        os.close(self.reader)


class Watch:
    """A child that plans one candidate."""

    def __init__(self, request, folder, server):
        self.request, self.folder, self.channel = request, folder, server.channel
        self.reply, self.output = Pipe(request["reply_bytes"]), Pipe(MAX_OUTPUT_BYTES)
        self.compiling = mmap.mmap(-1, mmap.PAGESIZE)
        self.pid = server.lock_up.fork()
        if self.pid == 0:
            child.run(request, folder, self.reply.writer, self.output.writer, server.null, self.tell, server.lock_up)
        os.close(self.reply.writer)
        os.close(self.output.writer)
        self.timed_out, self.status = False, None

    def tell(self, compiling):
        self.compiling[0] = int(compiling)

    def ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait(self):
        """Until the reply is complete, the child has ended, or its time is over."""
        poll = select.poll()
        poll.register(self.reply.reader, select.POLLIN)
        poll.register(self.output.reader, select.POLLIN)
        poll.register(self.channel, select.POLLRDHUP)
        end = time.monotonic() + self.request["wall_s"]
        while self.reply.open and not self.reply.too_long:
            left = end - time.monotonic()
            if left <= 0:
                self.timed_out = True
                return
            happened = dict(poll.poll(max(1, min(left, LOOK_S) * 1e3)))
            if self.channel.fileno() in happened:
                raise HungUp
            over = self.ended()
            self.reply.drain()
            self.output.drain()
            if not self.output.open and self.output.reader in happened:
                poll.unregister(self.output.reader)
            if over:
                return

    def kill(self):
        """Ends the child and its group. The child is not yet reaped then, so that its number is still its own."""
        end = time.monotonic() + END_S
        while not self.reply.open and not self.ended() and time.monotonic() < end:
            time.sleep(0.001)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGKILL)
        self.status = os.waitpid(self.pid, 0)[1]

    def close(self):
        self.reply.close()
        self.output.close()

    def printed(self):
        self.output.drain()
        text = self.output.data.decode(errors="replace")
        return shortened(without_paths(text, self.folder).strip(), MAX_DETAILS)

    def answer(self):
        """(reply, cubins)"""
        written = bytes(self.reply.data)
        if not written.startswith(child.LOCKED):
            words = written.decode(errors="replace") or how_it_ended(self.status)
            return {"status": "infra", "error": f"a candidate's process cannot be locked up: {words}"}, []
        if self.timed_out or (os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) in CPU_SIGNALS):
            return self.over_time(), []
        if self.reply.too_long:
            return failure("FAIL_PLAN", "too_large", f"plans and kernels take more than {self.request['reply_bytes']} bytes; launch or tune "
                           "fewer kernels"), []
        if written == child.LOCKED:
            return failure("FAIL_PLAN", "died", f"the process that runs launch {how_it_ended(self.status)}; return the outputs",
                           self.printed()), []
        try:
            reply, cubins = read_reply(written[len(child.LOCKED):])
            if reply.get("status") not in ("ok", "failed"):
                raise ValueError("a status that only this process gives")
        except (ValueError, MemoryError) as error:
            return failure("FAIL_PLAN", "malformed", f"the process that runs launch wrote no reply: {error}", self.printed()), []
        if reply.get("status") == "failed" and not reply.get("details"):
            reply["details"] = self.printed()
        return reply, cubins

    def over_time(self):
        seconds = self.request["wall_s"] if self.timed_out else self.request["cpu_s"]
        if self.compiling[0]:
            return failure("FAIL_COMPILE", "compile_timeout", f"compiling took more than {seconds:g} s; tune fewer configurations, or use "
                           "smaller blocks", self.printed())
        return failure("FAIL_PLAN", "timeout", f"launch took more than {seconds:g} s on the host; do less there", self.printed())


def how_it_ended(status):
    if os.WIFSIGNALED(status):
        return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status)
    return "aborted" if code == ABORTED else f"ended with exit code {code}"


class Server:
    def __init__(self, channel):
        self.channel = channel
        self.null = os.open(os.devnull, os.O_RDWR)
        self.lock_up = child.load_lock_up()

    def plan(self, request):
        """(reply, cubins)"""
        folder = tempfile.mkdtemp(prefix="candidate-")
        try:
            watch = Watch(request, folder, self)
            try:
                watch.wait()
            finally:
                watch.kill()
        except OSError as error:
            return {"status": "infra", "error": f"a candidate's process cannot be started: {error}"}, []
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        try:
            return watch.answer()
        finally:
            watch.close()

    def send(self, reply, cubins=()):
        self.channel.sendall(frame(json.dumps(reply).encode()) + b"".join(map(frame, cubins)))

    def serve(self, ready):
        self.send(ready)
        try:
            while (request := read_frame(self.channel.recv)) is not None:
                self.send(*self.plan(json.loads(request)))
        except (HungUp, BrokenPipeError, ConnectionResetError):
            pass


def serve(descriptor, ready):
    with socket.socket(fileno=descriptor) as channel:
        Server(channel).serve(ready)
