#!/usr/bin/env python3
"""Judges one candidate without boxes, for tests and people: what the broker does, with the same processes.

    drive.py PROBLEM.py CANDIDATE.py [--device cuda] [--precision fp32]

Prints JSON: what the problem is, both verdicts, and the times of timed calls in microseconds.
"""
import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../drawing"), HERE):
    if folder not in sys.path:
        sys.path.insert(0, folder)

from processes import Candidate, Ended, Reference  # noqa: E402

BASELINE = "class ModelNew(Model):\n    pass\n"
LIMIT_S = 20.0
SPINS = 2000  # between two looks whether the process is still there
SHOW, SNAPSHOT = 1, 3  # steps of reference_main.py


def refused_by_list(told):
    """Imports and flags are on lists that KernelBench does not know."""
    return told.get("kind") == "REJECT_POLICY" and told.get("reason") in ("import", "flag")


class Judge:
    def __init__(self, told, reference):
        self.told, self.reference = told, reference
        self.key = secrets.token_hex(16)

    def call(self, candidate, kind, trial, own_time=False):
        """One call, timed from outside: its comparison, "us", and where it is asked for the process's own time "own_us"."""
        place = self.reference.ask(op="place", kind=kind, trial=trial, key=self.key, exchange=candidate.exchange, party=candidate.party)
        answer = candidate.arm(place, own_time=own_time)
        if answer["status"] != "armed":
            return answer
        if (drawn := self.reference.ask(op="draw", number=self.reference.number))["status"] != "ok":
            raise Ended(f"draw: {drawn}")
        times = self.timed(candidate)
        if (left := self.reference.leave())["status"] != "ok":
            raise Ended(f"a call: {left}")
        told = candidate.receive()
        if told["status"] != "done":
            return told
        compared = self.reference.ask(op="compare")
        for mine, wanted in zip(told["outputs"], self.wanted, strict=True) if len(told["outputs"]) == len(self.wanted) else ():
            for reason, key in (("shape", "sizes"), ("dtype", "type")):
                if mine[key] != wanted[key]:
                    compared.update(right=False, reason=reason, message=f"y has {key} {mine[key]}, not {wanted[key]}")
        if len(told["outputs"]) != len(self.wanted):
            compared.update(right=False, reason="shape", message=f"{len(told['outputs'])} outputs, not {len(self.wanted)}")
        return {**compared, **times, "own_us": told.get("own_us")}

    def timed(self, candidate):
        """The call itself: "us" from when its inputs were there until its outputs were copied away. Nothing where the candidate ends it in
        another way."""
        clock = candidate.clock
        clock.go.value = candidate.nonce
        self.reference.take(SHOW)
        clock.given.value = candidate.nonce
        if not self.awaited(candidate, clock.computed):
            return {}
        while candidate.heard() and candidate.said is None and candidate.pass_on():
            pass
        candidate.places()
        self.reference.take(SNAPSHOT)
        return {"us": self.reference.clock.took.value * 1e-3}

    @staticmethod
    def awaited(candidate, word):
        """Whether it has written there, before it said something else or took too long."""
        start = time.perf_counter()
        while not candidate.has(word, SPINS):
            if candidate.heard() and not candidate.has(word, 1) and not candidate.pass_on():
                return False
            if time.perf_counter() - start > LIMIT_S:
                return False
        return True

    def prepare(self, candidate, source, backend, ungated=False):
        ready = candidate.wait_ready()
        if ready["status"] != "ready":
            return ready
        return candidate.ask(op="candidate", source=source, problem=self.told.problem_source, precision=self.told.precision,
                             backend=backend, extensions=[] if source is BASELINE else self.told.extensions,
                             gated=not self.told.ungated and not ungated)

    def comparable(self, candidate):
        """KernelBench's verdict: all trials right."""
        self.reference.ask(op="weights", kind="comparable", key="", exchange=candidate.exchange)
        results = [self.call(candidate, "comparable", trial) for trial in range(self.told.trials)]
        right = sum(one.get("right", False) for one in results)
        wrong = [one for one in results if not one.get("right", False)]
        return {"correct": right == len(results), "trials": f"({right} / {len(results)})", **({"first_wrong": wrong[0]} if wrong else {})}

    def use_strict_weights(self, processes):
        for one in processes:
            answer = self.reference.ask(op="weights", kind="strict", key=self.key, exchange=one.exchange)
            if answer["status"] == "ok":
                answer = one.ask(op="weights", weights=answer["weights"])
            if answer["status"] != "ok":
                break
        return answer

    def strict(self, candidate, baseline):
        """The draws that are believed, then pairs with the baseline; what the baseline's calls take besides the module is taken off both."""
        told = self.use_strict_weights([candidate, baseline])
        if told["status"] != "ok":
            return {"right": False, **told}
        for trial in range(self.told.draws):
            result = self.call(candidate, "strict", trial)
            if not result.get("right", False):
                return {"right": False, "draw": trial, **result}
        orders = [(candidate, baseline) if trial % 2 else (baseline, candidate) for trial in range(self.told.pairs)]
        pairs = [[self.call(one, "strict", trial % self.told.draws, one is baseline) for one in order] for trial, order in enumerate(orders)]
        mine = [pair[1 - at % 2] for at, pair in enumerate(pairs)]
        others = [pair[at % 2] for at, pair in enumerate(pairs)]
        wrong = [one for one in mine if not one.get("right", False)]
        if wrong or not all(one.get("right", False) for one in others):
            return {"right": False, "baseline": [one for one in others if not one.get("right")][:1], **(wrong[0] if wrong else {})}
        return {"right": True, **self.times(mine, others)}

    @staticmethod
    def times(mine, others):
        if not mine:
            return {}
        taken = statistics.median(one["us"] - one["own_us"] for one in others)
        us, base = (max(statistics.median(one["us"] for one in calls) - taken, 0.1) for calls in (mine, others))
        return {"us": round(us, 1), "baseline_us": round(base, 1), "speedup": round(base / us, 3)}

    def comparable_and_times(self, candidate, baseline):
        result = self.comparable(candidate)
        if self.told.device_times:
            for name, one in (("candidate", candidate), ("baseline", baseline)):
                if name == "baseline":
                    self.call(baseline, "comparable", 0)
                times = one.ask(op="comparable_times", trials=self.told.device_times, no_grad=name == "baseline")
                result[f"{name}_ms"] = round(statistics.mean(times["times_ms"]), 4) if times["status"] == "ok" else times
        return result

    def ungated(self, baseline, source):
        """KernelBench's verdict of what is refused for its imports, in a process of its own. Nothing else comes of it."""
        candidate = Candidate(self.reference)
        try:
            prepared = self.prepare(candidate, source, self.told.backend, ungated=True)
            if prepared["status"] != "ok":
                return {"correct": False, "first_wrong": prepared}
            return self.comparable_and_times(candidate, baseline)
        except Ended as error:
            return {"correct": False, "ended": str(error)}
        finally:
            candidate.process.kill()
            candidate.close()

    def judge(self, candidate, baseline, source):
        base = self.prepare(baseline, BASELINE, "cuda")
        if base["status"] != "ok":
            return {"baseline": base}
        prepared = self.prepare(candidate, source, self.told.backend)
        if prepared["status"] != "ok":
            return {"candidate": prepared, **({"comparable": self.ungated(baseline, source)} if refused_by_list(prepared) else {})}
        result = {"comparable": self.comparable_and_times(candidate, baseline)}
        result["strict"] = self.strict(candidate, baseline)
        if refused_by_list(result["strict"]):
            result["comparable"] = self.ungated(baseline, source)
        if self.told.profile and result["strict"].get("right"):
            result["profile"] = candidate.ask(op="profile")
        return result


def build(told, source, folder):
    """The candidate's extensions, compiled in a process of their own."""
    if "cpp_extension" not in source:
        return {"status": "ok", "extensions": []}
    done = subprocess.run([sys.executable, "-I", os.path.join(HERE, "build_main.py"), "--build", told.candidate, "--problem", told.problem,
                           "--into", folder], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def judge_files(told, folder):
    reference = Reference(told.device)
    if reference.ready["status"] != "ready":
        return {"reference": reference.ready}
    loaded = reference.load(name=os.path.basename(told.problem), source=told.problem_source, precision=told.precision,
                            tolerance=told.tolerance, trials=told.trials)
    if loaded["status"] != "ok":
        reference.close()
        return {"problem": loaded}
    judge = Judge(told, reference)
    judge.wanted = loaded["outputs"]
    candidate, baseline = Candidate(reference), Candidate(reference, exchange=0)
    with open(told.candidate) as file:
        source = file.read()
    built = build(told, source, folder)
    if built["status"] != "ok" and not built["refused"]:
        for one in (candidate, baseline, reference):
            one.close()
        return {"problem": loaded, "build": built}
    told.extensions = built.get("extensions", [])
    start = time.perf_counter()
    try:
        result = judge.judge(candidate, baseline, source)
    except Ended as error:
        result = {"ended": str(error)}
    finally:
        for one in (candidate, baseline, reference):
            one.close()
    return {"problem": loaded, "compile_ms": built.get("compile_ms"), **result, "judging_s": round(time.perf_counter() - start, 3)}


def main():
    options = argparse.ArgumentParser(description="judges one candidate for one problem, without boxes")
    options.add_argument("problem")
    options.add_argument("candidate")
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options.add_argument("--precision", choices=("fp32", "fp16", "bf16"), default="fp32")
    options.add_argument("--backend", choices=("cuda", "triton"), default="cuda")
    options.add_argument("--tolerance", type=float, help="KernelBench's; by default 1e-4 for fp32 and 1e-2 else")
    options.add_argument("--trials", type=int, default=5, help="comparable ones")
    options.add_argument("--draws", type=int, default=3, help="strict ones, not timed")
    options.add_argument("--pairs", type=int, default=10, help="timed pairs of candidate and baseline")
    options.add_argument("--device-times", type=int, default=0, help="trials of KernelBench's own timing, for both")
    options.add_argument("--profile", action="store_true", help="lists the kernels of one call")
    options.add_argument("--ungated", action="store_true", help="whatever the candidate imports")
    told = options.parse_args()
    with open(told.problem) as file:
        told.problem_source = file.read()
    told.tolerance = told.tolerance or (1e-4 if told.precision == "fp32" else 1e-2)
    told.extensions = []
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(judge_files(told, folder), indent=1))


if __name__ == "__main__":
    main()
