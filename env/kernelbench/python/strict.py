"""The strict calls' inputs and what is expected of them, kept as long as there is room: a draw that comes again is not computed again."""
import collections
import contextlib

import torch

import compare
import draws
import specials
import weights
import winograd
from problem import failed, out_of_memory, words_of


HALF_PLACES = {torch.float64: 2.0**-24, torch.float32: 2.0**-24, torch.float16: 2.0**-12, torch.bfloat16: 2.0**-9}
MOST_TERMS = 1 << 14
REACHES = ((1.0, False), (0.5, False), (1.0, True))  # how far a draw departs, and whether inputs keep their range; the first that works
TRIES = 3  # of one that it never follows
SURE, SURE_DRAWS = 1 / 16, 2  # of what is chaotic: where so many draws of a kind were off by less than that, others are not looked at


def flat_results(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def finite(tensors):
    """Waits for the device once."""
    parts = [part.isfinite().all() for one in tensors if one.dtype.is_floating_point
             for part in one.contiguous().view(-1).split(compare.TILE)]
    return bool(torch.stack(parts).all()) if parts else True


def bytes_of(tensors):
    return sum(one.numel() * one.element_size() for one in tensors if isinstance(one, torch.Tensor))


def is_floating(value):
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def longest_sum(model, inputs):
    """The number of terms that a sum of the model's may have, by the sizes of what it sums."""
    weights = [one.numel() // one.shape[0] for one in model.parameters() if one.dim() > 1 and one.numel()]
    sizes = [size for one in inputs if isinstance(one, torch.Tensor) for size in one.shape]
    return min(max([1, *weights, *sizes]), MOST_TERMS)


@contextlib.contextmanager
def default_type(dtype):
    """What forward makes without a type of its own, as a first state that it draws, has this one."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class Draw:
    """Inputs, and once somebody has asked for it what is expected of them: many calls of a baseline are never compared. `moved_by` and `others`
    as compare.judge_strictly takes them."""

    def __init__(self, inputs, form, references, strict):
        self.inputs, self.form, self.references, self.strict = inputs, form, references, strict
        self.known = None

    @property
    def expected(self):
        if self.known is None:
            self.known = self.strict.expect(self.inputs, self.references, self.form)
            self.references = None
            if self.form == "specials":
                for one in self.known:
                    one.free = specials.undefined(one.reference.view(one.sizes), self.inputs)
        return self.known

    def rough(self):
        """The reference's outputs without those in float64."""
        outputs = self.known or self.references or self.strict.run(self.strict.model, self.inputs)
        return outputs if self.known else [compare.Expected(one.reshape(-1), tuple(one.shape)) for one in outputs]

    def moved_by(self, pattern):
        return self.strict.moved(self.inputs, pattern)

    def others(self):
        return self.strict.by_winograd(self.inputs)

    def compare(self, gots, tolerance):
        """`tolerance` is KernelBench's, which counts where nothing departs."""
        return compare.judge_strictly(self.expected, gots, self.moved_by, self.others, tolerance if self.form == "plain" else None)

    @property
    def bytes(self):
        parts = [part for one in self.known or () for part in (one.reference, one.correction) if part is not None]
        return bytes_of(self.inputs) + bytes_of(parts) + bytes_of(self.references or ())


class Strict:
    """`facts`: "integers", as Problem.cast; "writes_inputs", whether the reference does; "outputs"; "integer_outputs", whether some output is
    one; "scales", of the outputs on the problem's own inputs."""

    def __init__(self, problem, arguments, model, facts, room):
        self.problem, self.arguments, self.kernelbench_model = problem, arguments, model
        self.facts, self.room = facts, room  # room: bytes that kept draws may take
        self.key, self.model, self.double, self.why_not_double = None, None, None, ""
        self.kept, self.has_twin = collections.OrderedDict(), False
        self.structures = draws.learn(problem)
        self.special = None  # numbers of the inputs that may hold NaN and infinity
        self.followed = collections.Counter()  # (form, number in REACHES, whether the reference follows) → draws
        self.shares = {}  # (form, number in REACHES) → how far the reference was off, at most
        self.reaches = {}  # (trial, key) → number in REACHES, so that a draw that comes again is the same

    def use_weights(self, key):
        """Errors: ProblemError."""
        if key == self.key:
            return
        self.forget()
        try:
            self.model = weights.strict_model(self.problem, self.arguments, self.kernelbench_model, key)
        except Exception as error:
            raise failed("the reference with other weights", error) from None
        self.double, self.why_not_double = weights.double_of(self.problem, self.arguments, self.model)
        self.has_twin = False
        self.key = key

    def forget(self):
        self.kept.clear()
        self.reaches.clear()
        self.key = self.model = self.double = None

    def run(self, model, inputs):
        if self.facts["writes_inputs"]:
            inputs = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
        with torch.no_grad():
            return flat_results(model(*inputs))

    def truths(self, inputs):
        """In float64, or None for each output where that does not work."""
        doubles = [one.double() if is_floating(one) else one for one in inputs]
        while self.double is not None:
            try:
                with default_type(torch.float64):
                    outputs = self.run(self.double, doubles)
            except Exception as error:
                self.why_not_double = words_of(error)
                if out_of_memory(error):
                    break
                self.use_twin()
                continue
            if all(one.dtype == torch.float64 for one in outputs if is_floating(one)) or not self.use_twin():
                return outputs
        return [None] * len(self.facts["outputs"])

    def use_twin(self):
        """Whether there is another module in float64 than a copy, whose closures may hold what was copied. Without one a copy that fails is none."""
        if self.has_twin:
            self.double = None if self.why_not_double else self.double
            return False
        self.has_twin = True
        twin, why = weights.twin_of(self.problem, self.arguments, self.model)
        if twin is None and not self.why_not_double:
            return False  # the copy computes, if not in float64
        self.double, self.why_not_double = twin, why
        return twin is not None

    def expect(self, inputs, references, form="plain"):
        references = self.run(self.model, inputs) if references is None else references
        terms = longest_sum(self.model, inputs) if form in draws.EVEN else 1
        return [compare.expected_of(*one, self.problem.dtype, usual, terms)
                for *one, usual in zip(references, self.truths(inputs), self.facts["scales"])]

    def moved(self, inputs, pattern):
        """The outputs in float64, flat, where the inputs err as a sum in f32 does. The same for the same pattern."""
        places = max(HALF_PLACES[self.problem.dtype], HALF_PLACES[torch.float32] * longest_sum(self.model, inputs) ** 0.5)
        generator = torch.Generator(device=self.problem.device).manual_seed(pattern)

        def rounded(one):
            signs = torch.empty(one.shape, dtype=torch.float64, device=one.device).random_(0, 2, generator=generator)
            return signs.mul_(2 * places).add_(1 - places).mul_(one)

        outputs = self.truths([rounded(one) if is_floating(one) else one for one in inputs])
        return [None if one is None else one.detach().contiguous().view(-1) for one in outputs]

    def by_winograd(self, inputs):
        """The outputs, flat, where the reference's convolutions are computed so; None where they cannot be."""
        if self.problem.dtype != torch.float32:
            return None
        try:
            outputs = winograd.outputs_by(lambda: self.run(self.model, inputs))
        except RuntimeError:  # there is no room
            return None
        return outputs and [one.contiguous().view(-1) for one in outputs]

    def draw(self, trial, key):
        """The same for the same arguments, while the weights are the same."""
        name = (str(trial), key)
        if name in self.kept:
            self.kept.move_to_end(name)
            return self.kept[name]
        self.make_room()
        self.kept[name] = self.made(trial, key)
        return self.kept[name]

    def made(self, trial, key, always_plain=False):
        """As far from the problem's own inputs as the reference follows. It does not where it is not finite, or so far off its float64 that
        nothing could be told from it."""
        ways = [] if always_plain else [self.reaches[trial, key]] if (trial, key) in self.reaches else range(len(REACHES))
        for number in ways:
            inputs, form = self.inputs(trial, key, number)
            if form == "plain":
                return Draw(inputs, form, None, self)
            if self.followed[form, number, True] == 0 and self.followed[form, number, False] >= TRIES:
                continue
            drawn = self.usable(inputs, form, number)
            self.followed[form, number, drawn is not None] += 1
            if drawn is not None:
                self.reaches[trial, key] = number
                return drawn
        inputs, form = draws.strict_inputs(self.problem, key, trial, self.facts["integers"], self.facts["integer_outputs"], True, self.structures)
        return Draw(inputs, form, None, self)

    def inputs(self, trial, key, number):
        reach, inside = REACHES[number]
        is_special = not inside and draws.choose_form(key, trial, self.facts["integer_outputs"]) == "specials"
        way = draws.Way(reach, inside, self.special_inputs() if is_special else ())
        return draws.strict_inputs(self.problem, key, trial, self.facts["integers"], self.facts["integer_outputs"], False, self.structures, way)

    def special_inputs(self):
        """Learned once for a problem: it does not depend on weights."""
        if self.special is None:
            bounded = self.facts["integer_outputs"] or draws.bounded(self.problem)
            self.special = () if bounded else self.pointwise_inputs()
        return self.special

    def pointwise_inputs(self):
        """By a trial on a part of the inputs where the reference takes that; none where there is no room for it."""
        def drawn(trial):
            return draws.strict_inputs(self.problem, draws.STRUCTURE, trial, self.facts["integers"], False, True, self.structures)[0]
        for part in (specials.slices, list):
            try:
                return specials.pointwise(lambda inputs: self.run(self.model, inputs), part(drawn(0)), part(drawn(1)))
            except Exception:
                continue
        return ()

    def usable(self, inputs, form, number):
        """The draw; None where the reference does not follow."""
        try:
            references = self.run(self.model, inputs)
        except Exception as error:
            if out_of_memory(error):
                raise
            return None
        drawn = Draw(inputs, form, references, self)
        if form == "specials":
            agree = all(specials.agree(one, inputs) for one in drawn.expected)
            return drawn if agree and not compare.chaotic(drawn.expected) else None
        if not finite(references):
            return None
        if self.followed[form, number, True] >= SURE_DRAWS and self.shares[form, number] <= SURE * compare.MOST_OFF:
            return drawn
        self.shares[form, number] = max(self.shares.get((form, number), 0.0), compare.share_off(drawn.expected))
        return None if compare.chaotic(drawn.expected) else drawn

    def make_room(self):
        """For another draw as large as the last one. The last stays, since its call is still to be compared."""
        while len(self.kept) > 1:
            taken = [one.bytes for one in self.kept.values()]
            if sum(taken) + taken[-1] <= self.room:
                return
            self.kept.popitem(last=False)
