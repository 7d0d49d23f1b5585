#!/usr/bin/env python3
"""The process of one candidate of Tier 1, or of a baseline: warm before it is needed, used for one source. The broker has it forked by
zygote_main.py. For tests and people it is also a program:

    candidate_main.py --device cpu|cuda [--exchange-bytes N]

Descriptor 3 is a stream socket of frames, 4 the exchange, 5 the clock page. The first frame says {"status": "ready"}, sent when torch and
triton are imported, the GPU has a context, the exchange is mapped and the process has locked itself up. Each frame that follows gets one
answer. Only "candidate" brings foreign source, and nothing before it does.

A call is timed outside: "arm" is answered at once, then this process spins until the clock page's `given` is the call's nonce: the inputs
are there or, on a GPU, on their way, and its stream waits for them. It runs the model, waits for the device, says where its result lies and
writes the nonce to `computed`. From then on the reference reads the result, and the clock runs until it has. Then this process says "done".
Nothing of the inputs is in its memory before the clock runs. The descriptor of memory that was not read before goes in a frame of its own,
before `computed`: {"status": "segment", "number", "bytes"}.
"""
import argparse
import contextlib
import gc
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "../../plan/triton"), os.path.join(HERE, "../drawing"), HERE):  # one folder where they are part of the program
    if folder not in sys.path and os.path.isdir(folder):
        sys.path.insert(0, folder)

import lock_up  # noqa: E402

CHANNEL, EXCHANGE, CLOCK = 3, 4, 5


class Candidate:
    """Answers the broker until it hangs up."""

    def __init__(self, channel, exchange, clock, folder):
        self.channel, self.exchange, self.clock, self.folder = channel, exchange, clock, folder
        self.module, self.inputs, self.strict = None, None, False
        self.results = None  # of the last call: the reference may still read them

    def serve(self):
        while (request := self.channel.receive()) is not None:
            try:
                answer = getattr(self, "op_" + request["op"])(request)
            except module_new.Failed as failed:
                answer = failed.reply
            except Exception as error:  # as of a GPU that the candidate has brought to a stop
                answer = module_new.failure_of(request["op"], error, self.module.path if self.module else "").reply
            if answer is not None:
                self.channel.send(answer)

    def op_candidate(self, request):
        start = time.perf_counter()
        try:
            self.module = module_new.ModuleNew(request, self.exchange.device, self.folder)
            self.module.build()
        except problem.ProblemError as error:
            return {"status": "failed", "stage": "problem", "error": error.reason, "message": str(error), "traceback": ""}
        self.exchange.synchronize()
        gc.collect()
        gc.freeze()
        gc.disable()
        return {"status": "ok", "construct_ms": (time.perf_counter() - start) * 1e3}

    def op_weights(self, request):
        self.strict = True
        self.module.set_weights((one["name"], tensor_at(self.exchange, one)) for one in request["weights"])
        self.exchange.synchronize()
        return {"status": "ok"}

    def op_arm(self, request):
        self.inputs, self.results = [self.value_of(one) for one in request["inputs"]], None
        watch, nonce = OwnTime(self.exchange), request["nonce"]
        self.set_precision()
        self.exchange.forget_persisting()
        self.exchange.synchronize()
        self.channel.send({"status": "armed"})
        if not self.clock.wait(self.clock.given, nonce, self.channel.hung_up):
            return None
        with torch.no_grad():
            watch.begin()
            results = self.readable(self.module.run(self.inputs))
            watch.end()
            self.results = self.finished(results, request["outputs"])
            del results
        self.clock.computed.value = nonce
        told = {"status": "done", "outputs": [spec_of(one) for one in self.results]}
        return {**told, "own_us": watch.us()} if request.get("own_time") else told

    def readable(self, results):
        """Copies of those that lie among the inputs, or where the reference cannot read them. That is the module's time."""
        with self.own_failures():
            module_new.check_results(results)
            given = {storage_of(one) for one in self.inputs if isinstance(one, torch.Tensor)}
            return [one.clone() if storage_of(one) in given or not self.exchange.reaches(one) else one for one in results]

    def finished(self, results, outputs):
        """When the device has computed them. Where they lie is told while it still computes: what a host takes for that differs from process to
        process, and would count."""
        with self.own_failures():
            self.exchange.hand_over(results, outputs, self.clock, self.channel.send)
            self.exchange.synchronize()
            return results

    @contextlib.contextmanager
    def own_failures(self):
        """What goes wrong is the candidate's, as where its kernels fail."""
        try:
            yield
        except module_new.Failed:
            raise
        except BaseException as error:
            raise module_new.failure_of("forward", error, self.module.path) from None

    def value_of(self, told):
        return told["value"] if "value" in told else tensor_at(self.exchange, told)

    def set_precision(self):
        """KernelBench leaves torch's default, which lets convolutions round their inputs to TF32; what is believed does not."""
        torch.backends.cudnn.allow_tf32 = not self.strict

    def op_comparable_times(self, request):
        """KernelBench times its reference without gradients ("no_grad"), and candidates with what they keep for them."""
        torch.backends.cudnn.allow_tf32 = True
        with torch.set_grad_enabled(not request.get("no_grad", False)):
            times = comparable.times_ms(self.module.run, self.inputs, request["trials"], self.exchange)
        return {"status": "ok", "times_ms": times}

    def op_profile(self, _):
        self.set_precision()
        return kernels.profile(self.module.run, self.inputs, self.exchange, self.module.libraries)


class OwnTime:
    """What the module's part of a call takes as this process sees it. Only the baseline is asked, and tells by how much the broker's time of a
    call is longer. Candidates' calls are watched as well, so that both do the same."""

    def __init__(self, exchange):
        self.exchange, device = exchange, exchange.device
        self.events = [EVENT(enable_timing=True) for _ in range(2)] if device == "cuda" else None
        self.turn = torch.zeros(1, device=device)
        self.times = [0.0, 0.0]

    def begin(self):
        """On a GPU what follows comes when the inputs are there, and after a kernel, which waits until the reference's are over. Copies to the
        host do not wait for other processes, and what is computed there meanwhile would cost nothing."""
        self.exchange.wait_until_shown()
        self.turn.add_(1)
        self.mark(0)

    def end(self):
        self.mark(1)

    def mark(self, which):
        if self.events:
            with contextlib.suppress(Exception):  # a candidate may have changed what events do, at its own cost
                self.events[which].record()
        else:
            self.times[which] = time.perf_counter()

    def us(self):
        """After the device was waited for."""
        if self.events:
            return 1e3 * self.events[0].elapsed_time(self.events[1])
        return 1e6 * (self.times[1] - self.times[0])


def storage_of(tensor):
    return tensor.untyped_storage().data_ptr()


def own_folder():
    """All that Triton and the candidate write lies there."""
    folder = tempfile.mkdtemp(prefix="candidate-") if lock_up.LIBRARY not in os.environ else tempfile.gettempdir()
    os.environ.update(TRITON_CACHE_DIR=os.path.join(folder, "cache"), TMPDIR=folder, HOME=folder,
                      TORCH_EXTENSIONS_DIR=os.path.join(folder, "extensions"))
    tempfile.tempdir = folder
    return folder


@contextlib.contextmanager
def driver_unasked():
    """Whoever wants to know whether there is a GPU is told so. A process that asks CUDA's driver cannot fork any that use it."""
    asked = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    try:
        yield
    finally:
        torch.cuda.is_available = asked


def import_all():
    """What a candidate would otherwise wait for. Triton may be missing: then those that need it fail by themselves."""
    global time, torch, comparable, kernels, module_new, problem, spec_of, tensor_at, EVENT
    os.environ.pop("LD_PRELOAD", None)  # it is meant for this program, and not for compilers that it starts
    import time

    import torch
    with driver_unasked():
        import torch.utils.cpp_extension  # noqa: F401

    import comparable
    import kernels
    import module_new
    import problem
    from exchange import spec_of, tensor_at
    EVENT = torch.cuda.Event
    try:
        import triton
        import triton.language  # noqa: F401
        return triton.__version__
    except ImportError:
        return ""


def load_triton_driver(version, device):
    """It is a C library that Triton compiles. Where that fails, so do the candidates that use Triton."""
    if version and device == "cuda":
        with contextlib.suppress(Exception), driver_unasked():
            from triton.runtime import driver
            return driver.active
    return None


def warm_triton(version, device):
    if (driver := load_triton_driver(version, device)) is not None:
        with contextlib.suppress(Exception):
            driver.get_current_target()


def run(device, exchange_bytes, begin):
    """Becomes that process. `begin` imports what is not yet imported, and gives Triton's version or ""."""
    from channel import Channel
    channel = Channel(CHANNEL)
    try:
        folder = own_folder()
        triton = begin()
        from clock import ClockPage
        from exchange import open_exchange
        if device == "cpu":
            torch.set_num_threads(1)
        warm_triton(triton, device)
        exchange, clock = open_exchange(device, EXCHANGE, exchange_bytes), ClockPage(CLOCK)
        lock_up.lock_up(folder)
    except Exception as error:
        channel.send({"status": "failed", "stage": "start", "error": type(error).__name__, "message": f"{type(error).__name__}: {error}"})
        return
    channel.send({"status": "ready", "torch": torch.__version__, "triton": triton})
    os.chdir(folder)
    Candidate(channel, exchange, clock, folder).serve()


def main():
    options = argparse.ArgumentParser(description="runs one candidate of Tier 1 for the broker at descriptor 3")
    options.add_argument("--device", choices=("cpu", "cuda"), required=True)
    options.add_argument("--exchange-bytes", type=int, default=0, help="the length of the memory behind descriptor 4, for cuda")
    told = options.parse_args()
    run(told.device, told.exchange_bytes, import_all)


if __name__ == "__main__":
    main()
