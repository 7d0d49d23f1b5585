"""The strict calls' inputs and what is expected of them, kept as long as there is room: a draw that comes again is not computed again."""
import collections

import torch

import compare
import draws
import weights
from problem import failed, out_of_memory, words_of


HALF_PLACES = {torch.float64: 2.0**-24, torch.float32: 2.0**-24, torch.float16: 2.0**-12, torch.bfloat16: 2.0**-9}
MOST_TERMS = 1 << 14


def flat_results(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def finite(tensors):
    return all(bool(part.isfinite().all()) for one in tensors if one.dtype.is_floating_point
               for part in one.contiguous().view(-1).split(compare.TILE))


def bytes_of(tensors):
    return sum(one.numel() * one.element_size() for one in tensors if isinstance(one, torch.Tensor))


def is_floating(value):
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def longest_sum(model, inputs):
    """The number of terms that a sum of the model's may have, by the sizes of what it sums."""
    weights = [one.numel() // one.shape[0] for one in model.parameters() if one.dim() > 1 and one.numel()]
    sizes = [size for one in inputs if isinstance(one, torch.Tensor) for size in one.shape]
    return min(max([1, *weights, *sizes]), MOST_TERMS)


class Draw:
    """Inputs, and once somebody has asked for it what is expected of them: many calls of a baseline are never compared. `moved_by` as
    compare.judge_strictly takes it."""

    def __init__(self, inputs, form, references, strict):
        self.inputs, self.form, self.references, self.expect = inputs, form, references, strict.expect
        self.moved_by = lambda pattern: strict.moved(inputs, pattern)
        self.known = None

    @property
    def expected(self):
        if self.known is None:
            self.known = self.expect(self.inputs, self.references)
            self.references = None
        return self.known

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

    def expect(self, inputs, references):
        references = self.run(self.model, inputs) if references is None else references
        return [compare.expected_of(*one, self.problem.dtype, usual)
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
        """Without departure where the reference is not defined beyond the problem's own draws, or nothing could be told from it there."""
        for plain in (True,) if always_plain else (False, True):
            inputs, form = draws.strict_inputs(self.problem, key, trial, self.facts["integers"], self.facts["integer_outputs"], plain,
                                               self.structures)
            if form == "plain":
                break
            references = self.defined(inputs)
            if references is not None:
                drawn = Draw(inputs, form, references, self)
                if not compare.chaotic(drawn.expected):
                    return drawn
        return Draw(inputs, form, None, self)

    def defined(self, inputs):
        """The reference's outputs; None where they are not finite, or it refuses the inputs, as a factorisation may."""
        try:
            references = self.run(self.model, inputs)
        except (RuntimeError, ValueError, IndexError) as error:
            if out_of_memory(error):
                raise
            return None
        return references if finite(references) else None

    def make_room(self):
        """For another draw as large as the last one. The last stays, since its call is still to be compared."""
        while len(self.kept) > 1:
            sizes = [one.bytes for one in self.kept.values()]
            if sum(sizes) + sizes[-1] <= self.room:
                return
            self.kept.popitem(last=False)
