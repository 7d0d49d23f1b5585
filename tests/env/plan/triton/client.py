"""The other end of the zygote's channel."""
import json
import os
import socket
import subprocess
import sys
import unittest

try:
    import torch  # noqa: F401
    import triton  # noqa: F401
    import yaml  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from tasks import CANDIDATES, ROOT, headers, request_of, task_request

ROOM = ROOT / "env/plan/triton"
sys.path[:0] = [str(ROOM), str(ROOT / "tests")]
from frames import frame, read_frame  # noqa: E402
from patience import PATIENCE_S  # noqa: E402


def request_for(source):
    """What the judge would ask about a candidate whose first comments name its task or shapes."""
    said = headers(source)
    request = task_request(said["task"], source) if "task" in said else request_of(said["shapes"], source)
    if "architecture" in said:
        request["target"] = {**request["target"], "architecture": int(said["architecture"])}
    return request


def candidate(name):
    return (CANDIDATES / f"{name}.py").read_text()


class ZygoteTest(unittest.TestCase):
    """Tests that share one zygote."""

    @classmethod
    def setUpClass(cls):
        cls.zygote = Zygote()

    @classmethod
    def tearDownClass(cls):
        cls.zygote.close()


class Zygote:
    def __init__(self, **environment):
        ours, theirs = socket.socketpair()
        self.channel = ours
        # The channel becomes descriptor 3 whatever its number here.
        self.process = subprocess.Popen(["/bin/sh", "-c", f'exec "$0" "$1" 3<&{theirs.fileno()}', sys.executable, str(ROOM / "zygote.py")],
                                        pass_fds=[theirs.fileno()], env={**os.environ, **environment})
        theirs.close()
        self.ready = json.loads(read_frame(ours.recv))

    def plan_named(self, name):
        return self.plan(request_for(candidate(name)))

    def plan(self, request):
        """(reply, cubins)"""
        self.channel.sendall(frame(json.dumps(request).encode()))
        reply = json.loads(read_frame(self.channel.recv))
        return reply, [read_frame(self.channel.recv) for _ in range(reply["cubins"] if reply["status"] == "ok" else 0)]

    def close(self):
        self.channel.close()
        return self.process.wait(timeout=PATIENCE_S)
