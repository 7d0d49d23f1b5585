"""Weights of other names and shapes, matched by what a seed makes of both modules."""
import unittest

import sources  # noqa: F401
import torch
from torch import nn

from weights import Matching, held


def seeded(make):
    torch.manual_seed(42)
    return make()


class Flat(nn.Module):
    """Batch norms and convolutions held flat, parameters before buffers."""

    def __init__(self, parameter=nn.Parameter):
        super().__init__()
        for at in range(2):
            conv = nn.Conv2d(3, 3, 3)
            setattr(self, f"w{at}", nn.Parameter(conv.weight.detach().clone()))
            setattr(self, f"conv_b{at}", nn.Parameter(conv.bias.detach().clone().view(-1, 1, 1)))
            setattr(self, f"gamma{at}", nn.Parameter(torch.ones(3)))
            setattr(self, f"beta{at}", nn.Parameter(torch.zeros(3)))
            for name, value in (("mean", torch.zeros(3)), ("var", torch.ones(3))):
                if parameter is nn.Parameter:
                    setattr(self, f"{name}{at}", nn.Parameter(value, requires_grad=False))
                else:
                    self.register_buffer(f"{name}{at}", value)


def nested():
    return nn.Sequential(*(layer for _ in range(2) for layer in (nn.Conv2d(3, 3, 3), nn.BatchNorm2d(3))))


def matched(reference, own):
    return Matching(dict(seeded(reference).state_dict(keep_vars=True)), *held(seeded(own)))


class Names(unittest.TestCase):
    def test_flat_batch_norms(self):
        wanted = {f"{own}{at}": f"{2 * at + layer}.{name}" for at in range(2) for own, layer, name in (
            ("w", 0, "weight"), ("conv_b", 0, "bias"), ("gamma", 1, "weight"), ("beta", 1, "bias"), ("mean", 1, "running_mean"),
            ("var", 1, "running_var"))}
        for parameter in (nn.Parameter, None):
            found = matched(nested, lambda: Flat(parameter))
            self.assertTrue(found.complete, (found.missing, found.unexpected, found.notes))
            self.assertEqual(dict(found.pairs), wanted)

    def test_the_same_values_twice(self):
        """Copies of one layer are told apart by their order; where there is one for two, nobody knows whose it is."""
        import copy

        def copies(count):
            layer = nn.Linear(4, 4)
            return nn.ModuleList([copy.deepcopy(layer) for _ in range(count)])

        class Named(nn.Module):
            def __init__(self, count):
                super().__init__()
                for at, one in enumerate(copies(count)):
                    setattr(self, f"part{at}", one)

        found = matched(lambda: copies(2), lambda: Named(2))
        self.assertEqual(sorted(found.pairs), [(f"part{at}.{name}", f"{at}.{name}") for at in range(2) for name in ("bias", "weight")])
        found = matched(lambda: copies(2), lambda: Named(1))
        self.assertFalse(found.complete)
        self.assertIn("part0.weight could each be 0.weight or 1.weight", found.notes)

    def test_tied_weights_go_everywhere(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = self.two = nn.Linear(4, 4)

        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                made = nn.Linear(4, 4)
                self.a, self.b = nn.Parameter(made.weight.detach().clone()), nn.Parameter(made.bias.detach().clone())

        found = matched(Tied, Two)
        self.assertTrue(found.complete, found.missing)
        self.assertEqual({own for own, _ in found.pairs}, {"a", "b"})

    def test_constants_of_another_shape(self):
        class One(nn.Module):
            def __init__(self, *sizes):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(*sizes))

        class Other(nn.Module):
            def __init__(self, *sizes):
                super().__init__()
                self.factor = nn.Parameter(torch.ones(*sizes))

        for sizes, others, right in (((1,), (1, 1, 1), True), ((5,), (5, 1, 1), True), ((3, 5), (5, 3), False), ((5,), (4,), False)):
            self.assertEqual(matched(lambda: One(*sizes), lambda: Other(*others)).complete, right, (sizes, others))

    def test_plain_tensors(self):
        class Plain(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = [one.detach().clone() for one in nn.Linear(4, 3).parameters()]
                self.scratch = torch.zeros(3)

        found = matched(lambda: nn.Sequential(nn.Linear(4, 3)), Plain)
        self.assertEqual(sorted(found.pairs), [("parts.0", "0.weight"), ("parts.1", "0.bias")])
        self.assertTrue(found.complete)


if __name__ == "__main__":
    unittest.main()
