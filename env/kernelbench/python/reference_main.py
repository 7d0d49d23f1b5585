#!/usr/bin/env python3
"""The process that knows what is right in Tier 1: draws inputs, runs the reference, and compares what candidates computed.

    reference_main.py --device cpu|cuda

Descriptor 3 is a stream socket of frames, descriptors 4 and 5 on a core the exchanges with the baseline and with candidates, files in memory
that this process makes long enough, and descriptor 6 a clock page. On a GPU it makes the exchanges itself: the answer to each "load" carries
their descriptors along. The first frame says {"status": "ready"}. Each request gets one answer, and one that fails has "reason" and one line
of "message". The broker's side is env/kernelbench/reference_process.h.

"draw" gets two. After the first, this process spins for the steps of a call, as a frame would take a while to be read: each has the next
number at `go`. STEPS says which there are. After the last, LEAVE, comes the second answer. Before the step "take_segment" comes a frame with
the descriptor of a segment; before "snapshot" the page says where the results lie.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

CHANNEL, EXCHANGES, CLOCK = 3, (4, 5), 6
LEAVE, STEPS = 0, {1: "show", 2: "take_segment", 3: "snapshot"}  # env/kernelbench/reference_process.h
BASELINE, CANDIDATES = 0, 1  # whose exchange it is


class Reference:
    """Holds one problem at a time, and keeps it while the same one is loaded again."""

    def __init__(self, channel, exchanges, clock, drawers):
        self.channel, self.exchanges, self.clock, self.drawers = channel, exchanges, clock, drawers
        self.device, self.synchronize = exchanges[0].device, exchanges[0].synchronize
        self.loaded, self.name, self.answer, self.generation = None, None, None, 0
        self.party, self.exchange = None, exchanges[CANDIDATES]  # of the placed call
        self.segments = {}  # party → number → memory of its own that it has exported

    def serve(self):
        """Until the broker hangs up, or a problem has brought the GPU to a stop: then only another process can go on."""
        usable = True
        while usable and (request := self.channel.receive()) is not None:
            descriptors = []
            try:
                answer = getattr(self, "op_" + request["op"])(request, descriptors)
            except ProblemError as error:
                answer = {"status": "failed", "reason": error.reason, "message": str(error)}
            except Exception as error:
                answer = self.broken(error)
            if answer["status"] != "ok":
                usable = self.recover()
            self.channel.send(answer, descriptors)
            for one in descriptors:
                os.close(one)

    def recover(self):
        """Whether the device can still be used. Memory that a failure has left is given back."""
        try:
            self.synchronize()
            room.tidy(self.device)
            return True
        except RuntimeError:
            return False

    @staticmethod
    def broken(error):
        reason = "does_not_fit" if out_of_memory(error) else "reference_fails"
        return {"status": "failed", "reason": reason, "message": words_of(error)}

    def op_load(self, request, descriptors):
        name = (request["source"], request["precision"], request["tolerance"], request.get("trials", 5))
        if name != self.name:
            self.op_unload(request, descriptors)
            held = sum(one.bytes for one in self.exchanges)
            self.loaded = judged.Loaded(request, self.device, room.Room(self.device, held), self.drawers)
            try:
                self.answer = self.loaded.reply()
                self.generation += sum([one.grow(self.loaded.bytes) for one in self.exchanges])
            except Exception:
                self.op_unload(request, descriptors)
                raise
            self.name = name
        room.tidy(self.device)
        if self.device == "cuda":
            descriptors.extend(one.exported() for one in self.exchanges)
        return {**self.answer, "exchange_bytes": self.exchange.bytes, "generation": self.generation,
                "memory_bytes": room.used_bytes(self.device)}

    def op_unload(self, _request, _descriptors):
        if self.loaded is not None:
            self.loaded.close()
        self.loaded = self.name = self.answer = None
        for one in self.exchanges:
            one.shrink()
        room.tidy(self.device)
        return {"status": "ok"}

    def op_sizes(self, request, _descriptors):
        """What its tensors take, before any is drawn."""
        try:
            found = room.shapes(Problem(request["source"], request["precision"], "cpu"))
        except ProblemError:
            found = None  # load says why
        return {"status": "failed", "reason": "unknown", "message": ""} if found is None else {"status": "ok", **found}

    def op_weights(self, request, _):
        return {"status": "ok", "weights": self.loaded.set_weights(self.exchanges[request["exchange"]], request)}

    def op_place(self, request, _):
        self.party, self.exchange = request["party"], self.exchanges[request["exchange"]]
        return {"status": "ok", **self.loaded.place(request)}

    def op_idle(self, _request, _descriptors):
        return {"status": "ok", "us": [self.exchange.idle_us()]}

    def op_forget(self, request, _descriptors):
        """All parties that have ended."""
        self.synchronize()
        for party in [one for one in self.segments if one != request["but"]]:
            for one in self.segments.pop(party).values():
                one.close()
        return {"status": "ok"}

    def op_draw(self, request, _descriptors):
        self.loaded.draw(self.exchange)
        self.channel.send({"status": "ok"})
        return self.take_steps(request["number"])

    def take_steps(self, number):
        """Those that follow `number`. After one that fails the others do nothing."""
        answer = {"status": "ok"}
        while self.clock.wait(self.clock.go, number := number + 1, self.channel.hung_up):
            if self.clock.step.value == LEAVE:
                break
            try:
                if answer["status"] == "ok":
                    getattr(self, "step_" + STEPS[self.clock.step.value])()
            except Exception as error:
                answer = self.broken(error)
            self.clock.done.value = number
        return answer

    def step_show(self):
        self.loaded.show(self.exchange)

    def step_take_segment(self):
        """What is none is not there: that is its party's fault."""
        told, descriptors = self.channel.receive_with_descriptors()
        try:
            own = self.segments.setdefault(self.party, {})
            if told["number"] not in own:
                own[told["number"]] = self.exchange.imported(descriptors[0], told["bytes"])
        except OSError:
            pass
        finally:
            for one in descriptors:
                os.close(one)

    def step_snapshot(self):
        self.clock.took.value = self.loaded.snapshot(self.exchange, self.clock.places, self.segments.get(self.party, {}))

    def op_compare(self, _request, _descriptors):
        return {"status": "ok", **self.loaded.compare()}


def main():
    global judged, room, Problem, ProblemError, out_of_memory, words_of
    options = argparse.ArgumentParser(description="judges the calls of Tier 1 for the broker at descriptor 3")
    options.add_argument("--device", choices=("cpu", "cuda"), required=True)
    told = options.parse_args()
    from channel import Channel
    channel = Channel(CHANNEL)
    try:
        import torch

        import judged
        import room
        from clock import ClockPage
        from drawers import Drawers
        from exchange import CpuExchange, CudaExchange
        from problem import Problem, ProblemError, out_of_memory, words_of
        torch.backends.cudnn.allow_tf32 = False
        if told.device == "cpu":
            torch.set_num_threads(1)
        drawers = Drawers([CHANNEL, *EXCHANGES, CLOCK])  # before there is a context
        exchanges = [CpuExchange(one) if told.device == "cpu" else CudaExchange() for one in EXCHANGES]
        clock = ClockPage(CLOCK)
    except Exception as error:
        channel.send({"status": "failed", "reason": "start", "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready", "torch": torch.__version__})
    Reference(channel, exchanges, clock, drawers).serve()


if __name__ == "__main__":
    main()
