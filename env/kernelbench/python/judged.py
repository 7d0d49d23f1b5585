"""A loaded problem: what its tensors are, where they lie in the exchange, and the judgement of a call."""
import copy
import random
import secrets
import time

import torch

import comparable
import compare
import draws
import power
import room
import strict
from exchange import ALIGNMENT, SHOWN_BYTES, TYPES, bytes_of, contiguous, copy_by_kernel, spec_of, tensor_at
from problem import PRECISIONS, Problem, ProblemError, failed

SHIFTS = 64  # a tensor begins at one of that many places
OTHER_SEED = 271828
NOISE = 64.0  # times what the strict verdict's floor allows: two runs of the reference may differ by the order of atomic additions
PLAIN_VALUES = (int, float, bool, str, type(None))


def whole(bytes_):
    return -(-bytes_ // ALIGNMENT) * ALIGNMENT


def region_bytes(specs):
    return sum(whole(bytes_of(one)) + (SHIFTS - 1) * ALIGNMENT for one in specs)


def placed(specs, base):
    """With an "offset" each, another one from call to call."""
    chance = random.Random(secrets.randbits(64))
    result, at = [], base
    for one in specs:
        at += chance.randrange(SHIFTS) * ALIGNMENT
        result.append({**one, "offset": at})
        at += whole(bytes_of(one))
    return result


def input_spec(value):
    if isinstance(value, torch.Tensor):
        return spec_of(value)
    if isinstance(value, PLAIN_VALUES) or isinstance(value, (list, tuple)) and all(isinstance(one, PLAIN_VALUES) for one in value):
        return {"value": value}
    raise ProblemError("unsupported_inputs", f"get_inputs gives a {type(value).__name__}; tensors and plain numbers can be passed")


def output_spec(value):
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        raise ProblemError("unsupported_outputs", f"the reference returns a {type(value).__name__}; a tensor, or several, can be judged")
    try:
        return spec_of(value)
    except TypeError as error:
        raise ProblemError("unsupported_outputs", f"the reference returns {error}") from None


class Loaded:
    """Errors: ProblemError."""

    def __init__(self, request, device, keep, drawers=None):
        start = time.perf_counter()
        self.tolerance, self.device = request["tolerance"], device
        self.problem = Problem(request["source"], request["precision"], device)
        room.check(self.problem, keep)
        try:
            self.arguments = self.problem.init_inputs()
            self.model = self.problem.build(self.problem.module.Model, self.arguments)
        except Exception as error:
            raise failed("Model", error) from None
        self.writes_inputs = False
        self.keep, self.integers, self.seeds = keep, True, comparable.trial_seeds(request.get("trials", 5))
        self.kept = {}  # comparable trial → (inputs, expected)
        self.first_trial()
        self.check_repeats()
        self.strict = strict.Strict(self.problem, self.arguments, self.model, {
            "integers": self.integers, "writes_inputs": self.writes_inputs, "outputs": self.outputs,
            "integer_outputs": any(not one.reference.dtype.is_floating_point for one in self.kept[0][1]),
            "scales": [one.scale for one in self.kept[0][1]]}, keep.strict_bytes)
        self.weights = [{"name": name, **spec_of(tensor.contiguous())} for name, tensor in self.model.state_dict().items()]
        self.lay_out()
        self.call, self.ready, self.snapshots = None, None, None
        self.drawings = self.start_drawing(drawers, request["precision"])
        self.load_ms = (time.perf_counter() - start) * 1e3

    def first_trial(self):
        """The first comparable draw says what the tensors are. Where the reference cannot take integers as floats, it gets them as they
        are; KernelBench itself cannot run it then."""
        try:
            raw = comparable.draw_inputs(self.problem, self.seeds[0])
        except Exception as error:
            raise failed("get_inputs", error) from None
        if not isinstance(raw, (list, tuple)):
            raise ProblemError("unsupported_inputs", f"get_inputs gives a {type(raw).__name__}, not a list")
        try:
            inputs, outputs = self.run_once(raw)
        except ProblemError as error:
            has_integers = any(isinstance(one, torch.Tensor) and not one.dtype.is_floating_point for one in raw)
            if error.reason != "reference_fails" or not has_integers:
                raise
            self.integers = False
            inputs, outputs = self.run_once(raw)
        self.inputs, self.outputs = [input_spec(one) for one in inputs], [output_spec(one) for one in outputs]
        if not outputs:
            raise ProblemError("unsupported_outputs", "the reference returns nothing")
        self.keep_trial(0, inputs, outputs)

    def run_once(self, raw):
        """(inputs, outputs) as KernelBench has them: what the reference writes into its inputs reaches the candidate."""
        try:
            inputs = [self.problem.cast(one, self.integers) for one in raw]
            versions = [one._version for one in inputs if isinstance(one, torch.Tensor)]
            with torch.no_grad(), comparable.default_precision():
                outputs = strict.flat_results(self.model(*inputs))
        except Exception as error:
            raise failed("the reference", error) from None
        self.writes_inputs |= versions != [one._version for one in inputs if isinstance(one, torch.Tensor)]
        return inputs, outputs

    def keep_trial(self, trial, inputs, outputs):
        expected = [compare.expected_of(one, None, self.problem.dtype) for one in outputs]
        inputs = [one.detach() if isinstance(one, torch.Tensor) else one for one in inputs]
        self.kept[trial] = (inputs, expected)
        return self.kept[trial]

    def comparable(self, trial):
        """(inputs, expected) of a comparable trial, drawn once where there is room."""
        if trial in self.kept:
            inputs, expected = self.kept[trial]
            return self.keep.back(inputs, expected, self.device)
        drawing = self.drawings.pop(trial, None)
        raw = drawing and drawing.inputs(self.device)
        inputs, outputs = self.run_once(raw or comparable.draw_inputs(self.problem, self.seeds[trial]))
        if [input_spec(one) for one in inputs] != self.inputs:
            raise ProblemError("unsupported_inputs", "get_inputs gives other sizes from call to call")
        drawn = self.keep_trial(trial, inputs, outputs)
        self.keep.settle(self.kept, trial)
        return drawn

    def start_drawing(self, drawers, precision):
        """The other comparable draws, as many at a time as there are cores and memory on the host."""
        size = strict.bytes_of(self.kept[0][0])
        if drawers is None or size < drawers.least_bytes:
            return {}
        count = min(len(self.seeds) - 1, drawers.free, room.host_bytes() // (3 * size))
        return {trial: drawers.start(self.problem, precision, self.integers, self.seeds[trial]) for trial in range(1, 1 + count)}

    def close(self):
        """Draws that nobody has asked for go on for nothing."""
        for one in self.drawings.values():
            one.close()

    def check_repeats(self):
        """Runs the reference again after other draws of the global generator."""
        inputs, expected = self.kept[0]
        torch.manual_seed(OTHER_SEED)
        if self.writes_inputs:
            inputs = [self.problem.cast(one, self.integers) for one in comparable.draw_inputs(self.problem, self.seeds[0])]
            torch.manual_seed(OTHER_SEED)
        try:
            with torch.no_grad(), comparable.default_precision():
                again = strict.flat_results(self.model(*inputs))
        except Exception as error:
            raise failed("the reference's second run", error) from None
        for one, other in zip(expected, again):
            noisy = compare.Expected(one.reference, one.sizes, scale=one.scale, floor=NOISE * one.floor)
            if not compare.judge_strictly([noisy], [other.contiguous()]).right:
                raise self.unequal(inputs)
        for one in expected:
            if one.reference.dtype.is_floating_point and bool(one.reference.isnan().any()):
                raise ProblemError("reference_fails", "the reference gives NaN")

    def unequal(self, inputs):
        """Why two runs of the reference differ: of two modules in the same state the answers still do if they are drawn."""
        answers = []
        for seed in (OTHER_SEED, OTHER_SEED + 1):
            try:
                model = copy.deepcopy(self.model)
            except Exception:
                model = self.problem.build(self.problem.module.Model, self.arguments)
            draws.seed_all(seed)
            with torch.no_grad(), comparable.default_precision():
                given = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
                answers.append(strict.flat_results(model(*given)))
        drawn = any(not torch.equal(*pair) for pair in zip(*answers))
        if drawn:
            return ProblemError("draws_in_forward", "forward draws random numbers, as dropout does while training, and its result depends on them: "
                                "no answer could be told right from wrong; switch that off in the problem, or leave it out")
        return ProblemError("keeps_a_state", "the result of forward depends on the calls before it, so that answers could only be compared call by "
                            "call; pass the state as an input and an output, or leave the problem out")

    def lay_out(self):
        """Of each exchange. On a GPU outputs lie in the memory of whoever computes them."""
        tensors = [one for one in self.inputs if "value" not in one]
        self.weights_at = SHOWN_BYTES + region_bytes(tensors)
        self.outputs_at = self.weights_at + region_bytes(self.weights)
        self.outputs_bytes = region_bytes(self.output_places()) if self.device == "cpu" else 0
        self.bytes = self.outputs_at + self.outputs_bytes

    def output_places(self):
        return [{"sizes": one["sizes"], "strides": contiguous(one["sizes"]), "type": one["type"]} for one in self.outputs]

    def reply(self):
        weak = self.power()
        return {"status": "ok", "inputs": self.inputs, "outputs": self.outputs, "exchange_bytes": self.bytes, **weak,
                "promises": self.promises(), "as_kernelbench": self.integers, "load_ms": self.load_ms}

    def promises(self):
        """Clauses on what each draw of the inputs has, and strict draws keep."""
        return [clause for at, one in enumerate(self.strict.structures or ()) if one is not None for clause in one.words(f"input {at}")]

    def power(self):
        """Names of the answers without work that pass, strictly and comparably."""
        try:
            self.strict.use_weights(power.KEY)
            weak = self.weak_strictly(self.check_precision())
            (inputs, expected), (_, other) = self.comparable(0), self.comparable(1 % len(self.seeds))
            easy = power.passing([(expected, inputs, other)], lambda one, two: compare.judge_comparably(one, two, self.tolerance))
        except ProblemError:
            raise
        except Exception as error:
            raise failed("the reference on strict draws", error) from None
        self.strict.forget()
        return {"weak": weak, "weak_comparable": easy, "without_float64": self.strict.why_not_double}

    def weak_strictly(self, drawn):
        """Those that pass a draw without departure, each kind of draw, and more draws without. Most fail the first, so that no other is compared."""
        other, weak = self.strict.made(power.DRAWS + 1, power.KEY, always_plain=True).rough(), None
        trials = (*range(power.DRAWS), *range(power.DRAWS + 2, power.DRAWS + power.MORE_DRAWS))
        for trial in (power.DRAWS, *trials):
            drawn = drawn or self.strict.made(trial, power.KEY, always_plain=trial > power.DRAWS)
            passing = power.passing([(drawn.expected, drawn.inputs, other)], lambda _, got, drawn=drawn: drawn.compare(got, self.tolerance))
            weak = passing if weak is None else [one for one in weak if one in passing]
            drawn = None
            if not weak:
                break
        return weak

    def check_precision(self):
        """A draw without departure. Errors: ProblemError where the reference is so far off in its precision that other answers could not be told
        from it."""
        drawn = self.strict.made(power.DRAWS, power.KEY, always_plain=True)
        if compare.chaotic(drawn.expected):
            precision = next(name for name, dtype in PRECISIONS.items() if dtype == self.problem.dtype)
            share = compare.share_off(drawn.expected)
            raise ProblemError("chaotic", f"the reference in {precision} is off the same in float64 by {share:.0%} of the outputs' mean size, so "
                               "that wrong answers could not be told from right ones; choose another tasks.precision, or leave it out")
        return drawn

    def set_weights(self, exchange, request):
        """Writes the strict weights into the exchange. Comparable ones agree by the order of draws."""
        if request["kind"] == "comparable":
            return []
        self.strict.use_weights(request["key"])
        places = placed(self.weights, self.weights_at)
        state = self.strict.model.state_dict()
        for one in places:
            tensor_at(exchange, one).copy_(state[one["name"]])
        exchange.synchronize()
        return places

    def place(self, request):
        """Where the tensors of a call will lie, and what its outputs shall be, with the reference's strides."""
        tensors = iter(placed([one for one in self.inputs if "value" not in one], SHOWN_BYTES))
        inputs = [one if "value" in one else next(tensors) for one in self.inputs]
        outputs = [{**own, "strides": one["strides"]} for own, one in zip(placed(self.output_places(), self.outputs_at), self.outputs)]
        self.call = (request, inputs, outputs)
        return {"inputs": inputs, "outputs": outputs}

    def drawn(self):
        """What has the inputs and what is expected of the placed call."""
        request = self.call[0]
        if request["kind"] == "comparable":
            return comparable.Trial(*self.comparable(request["trial"]))
        return self.strict.draw(request["trial"], request["key"])

    def draw(self, exchange):
        """Makes the inputs of the placed call ready, in memory that no party sees, and spoils outputs that lie in the exchange. Comparable
        inputs are known to the world, so they are shown at once: what they take here is free then."""
        self.ready = None  # frees the last call's before others are made
        self.ready = self.drawn()
        if self.call[0]["kind"] == "comparable":
            self.write_inputs(exchange)
            self.ready = comparable.Trial([], self.ready.expected)
        if self.outputs_bytes:
            exchange.all[self.outputs_at:self.outputs_at + self.outputs_bytes].fill_(0xFF)
        exchange.hide()
        room.leave(exchange.device)
        exchange.synchronize()

    def write_inputs(self, exchange):
        """To where the candidate finds them."""
        for value, one in zip(self.ready.inputs, self.call[1]):
            if "value" not in one:
                copy_by_kernel(tensor_at(exchange, one), value)

    def show(self, exchange):
        """The clock runs."""
        exchange.show(lambda: self.write_inputs(exchange))

    def snapshot(self, exchange, places, segments):
        """Copies the outputs; what is written later does not count. What does not lie where its party says is a copy of nothing. The call's
        time in nanoseconds."""
        if self.snapshots is None:
            self.snapshots = [torch.empty(one["sizes"], dtype=TYPES[one["type"]], device=self.device) for one in self.outputs]
        results = exchange.results(self.call[2], places, segments)
        took_ns = exchange.took_ns(lambda: [copy_by_kernel(own, one) for own, one in zip(self.snapshots, results) if one is not None])
        for own, one in zip(self.snapshots, results):
            if one is None and own.numel():
                own.view(-1).view(torch.uint8).fill_(0xFF)
        return took_ns

    def compare(self):
        expected = self.ready.expected
        if self.call[0]["kind"] == "comparable":
            return compare.judge_comparably(expected, self.snapshots, self.tolerance).wire()
        return self.ready.compare(self.snapshots, self.tolerance).wire()
