"""The strict calls' inputs and what is expected of them, kept as long as there is room: a draw that comes again is not computed again."""
import collections

import torch

import compare
import draws
import weights
from problem import failed, out_of_memory, words_of

KEPT_SHARE = 0.12  # of the device's memory


def flat_results(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def finite(tensors):
    return all(bool(part.isfinite().all()) for one in tensors if one.dtype.is_floating_point
               for part in one.contiguous().view(-1).split(compare.TILE))


def bytes_of(tensors):
    return sum(one.numel() * one.element_size() for one in tensors if isinstance(one, torch.Tensor))


class Draw:
    def __init__(self, inputs, form, expected):
        self.inputs, self.form, self.expected = inputs, form, expected
        parts = [part for one in expected for part in (one.reference, one.correction) if part is not None]
        self.bytes = bytes_of(inputs) + bytes_of(parts)


class Strict:
    """`integers`: as Problem.cast. `copies`: whether the reference writes its inputs. `integer_outputs`: whether some output is one."""

    def __init__(self, problem, arguments, model, facts, room):
        self.problem, self.arguments, self.kernelbench_model = problem, arguments, model
        self.facts, self.room = facts, room
        self.key, self.model, self.double, self.why_not_double = None, None, None, ""
        self.kept = collections.OrderedDict()

    def use_weights(self, key):
        """Errors: ProblemError."""
        if key == self.key:
            return
        self.kept.clear()
        self.model = self.double = None
        try:
            self.model = weights.strict_model(self.problem, self.arguments, self.kernelbench_model, key)
        except Exception as error:
            raise failed("the reference with other weights", error) from None
        self.double, self.why_not_double = weights.double_of(self.problem, self.arguments, self.model)
        self.key = key

    def run(self, model, inputs):
        if self.facts["writes_inputs"]:
            inputs = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
        with torch.no_grad():
            return flat_results(model(*inputs))

    def truths(self, inputs):
        """In float64, or None for each output where that does not work."""
        if self.double is not None:
            try:
                return self.run(self.double, [one.double() if isinstance(one, torch.Tensor) and one.dtype.is_floating_point else one
                                              for one in inputs])
            except Exception as error:
                self.why_not_double = words_of(error)
                if not out_of_memory(error):
                    self.double = None
        return [None] * len(self.facts["outputs"])

    def expect(self, inputs, references):
        return [compare.expected_of(reference, truth, self.problem.dtype) for reference, truth in zip(references, self.truths(inputs))]

    def draw(self, trial, key):
        """The same for the same arguments, while the weights are the same."""
        name = (str(trial), key)
        if name in self.kept:
            self.kept.move_to_end(name)
            return self.kept[name]
        self.make_room(0)
        made = self.made(trial, key)
        self.make_room(made.bytes)
        self.kept[name] = made
        return made

    def made(self, trial, key):
        for plain in (False, True):
            inputs, form = draws.strict_inputs(self.problem, key, trial, self.facts["integers"], self.facts["integer_outputs"], plain)
            references = self.run(self.model, inputs)
            if form == "plain" or finite(references):
                break
        return Draw(inputs, form, self.expect(inputs, references))

    def make_room(self, bytes_):
        """At least the last draw is kept, since its call is still to be compared."""
        while len(self.kept) > 1 and sum(one.bytes for one in self.kept.values()) + bytes_ > self.room:
            self.kept.popitem(last=False)
