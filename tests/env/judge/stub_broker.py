#!/usr/bin/env python3
"""A broker that does what its candidates say, for lanes_test.cc.

At its start it does what the file $STUB_BROKER says: "fail WORDS", "machine NAME", "deaf" (it reads
nothing), or nothing.
"""

import json
import os
import signal
import struct
import sys
import time

import socket

PEER = socket.socket(fileno=3)


def receive():
    def take(size):
        data = b""
        while len(data) < size:
            part = PEER.recv(size - len(data))
            if not part:
                sys.exit(0)
            data += part
        return data
    return take(struct.unpack("<I", take(4))[0]).decode()


def wire(text):
    return struct.pack("<I", len(text)) + text.encode()


def verdict(**fields):
    numbers = {name: 0 for name in ("speedup_low", "speedup_high", "pairs", "floor_us", "profile_share", "compile_ms",
                                    "run_ms", "total_ms")}
    whole = {"kind": "PASS", "reason": "", "message": "PASS", "candidate_us": 2, "baseline_us": 4, "speedup": 2,
             "cached": False, **numbers, **fields}
    return json.dumps(whole) + "\n0 0 0\n"


def start():
    words = open(os.environ["STUB_BROKER"]).read().split(" ", 1)
    ready = {"level": "S2 (stub)", "machine": "stub", "gpu_compilers": {}, "gpu_uuid": "", "gpu_target": [],
             "notes": [], "error": "", "user_error": False}
    if words[0] == "fail":
        ready["error"] = words[1]
    if words[0] == "machine":
        ready["machine"] = words[1]
    while words[0] == "deaf":
        time.sleep(60)
    receive()
    PEER.sendall(wire(json.dumps(ready)))
    if words[0] == "fail":
        sys.exit(3)


def judge(source):
    asked = source.rsplit("// ", 1)[1].split()
    if asked[0] == "die":
        sys.exit(7)
    if asked[0] == "stop":
        while True:  # the kernel wakes a group of processes whose parent has left
            os.kill(os.getpid(), signal.SIGSTOP)
    if asked[0] == "nonsense":
        return PEER.sendall(wire("nonsense\nof some kind\n"))
    if asked[0] == "half":  # until there is a file of that name
        whole = wire(verdict())
        PEER.sendall(whole[:50])
        open(asked[1] + ".begun", "w").close()
        while not os.path.exists(asked[1]):
            time.sleep(0.01)
        return PEER.sendall(whole[50:])
    if asked[0] == "waits":
        for second in range(int(asked[1])):
            PEER.sendall(wire(f"~{second} core-7, which is held by pid 1 (init)"))
            time.sleep(0.1)
    if asked[0] == "infra":
        return PEER.sendall(wire(verdict(kind="INFRA", reason="the runner does not start", speedup=0, candidate_us=0,
                                         baseline_us=0)))
    if asked[0] == "unusable":
        with open(asked[1], "a") as file:
            file.write("asked\n")
        return PEER.sendall(wire(verdict(kind="INFRA", reason="draws numbers", speedup=0, candidate_us=0, baseline_us=0,
                                         problem={"unusable": "draws numbers"})))
    if asked[0] == "infinite":
        return PEER.sendall(wire(verdict(speedup=None)))
    PEER.sendall(wire(verdict()))


start()
while True:
    judge(receive().split("\n", 1)[1])
