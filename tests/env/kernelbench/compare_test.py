"""Comparisons, draws, weights and the power check, without processes."""
import types
import unittest

import module_judge  # noqa: F401
import torch

import compare
import draws
import power
import weights
from problem import Problem

FINITE = [form for form in draws.FORMS if form not in ("plain", "specials")]
HEAD = "import torch\nimport torch.nn as nn\n"


def expected(reference, truth=None, dtype=torch.float32):
    return compare.expected_of(reference, truth, dtype)


class Comparable(unittest.TestCase):
    def test_as_allclose(self):
        generator = torch.Generator().manual_seed(1)
        for dtype, tolerance in ((torch.float32, 1e-4), (torch.float16, 1e-2), (torch.bfloat16, 1e-2)):
            for scale in (0.1, 0.9, 1.1, 5.0):
                one = torch.randn(50, 40, generator=generator).to(dtype)
                other = (one.float() + scale * tolerance * torch.randn(50, 40, generator=generator)).to(dtype)
                judged = compare.judge_comparably([expected(one)], [other], tolerance)
                self.assertEqual(judged.right, torch.allclose(one, other, atol=tolerance, rtol=tolerance))
                if not judged.right:
                    difference = (one.double() - other.double()).abs()
                    self.assertAlmostEqual(judged.max_difference[0], difference.max().item())
                    self.assertAlmostEqual(judged.avg_difference[0], difference.mean().item())

    def test_not_a_number_is_never_right(self):
        one = torch.full((4,), float("nan"))
        self.assertFalse(compare.judge_comparably([expected(one)], [one.clone()], 1e-4).right)

    def test_several_tiles(self):
        self.addCleanup(setattr, compare, "TILE", compare.TILE)
        compare.TILE = 7
        one = torch.arange(20.0).view(4, 5)
        other = one.clone()
        self.assertTrue(compare.judge_comparably([expected(one)], [other], 1e-4).right)
        other[3, 2] = 50
        other[3, 4] = -1
        self.assertEqual(compare.judge_comparably([expected(one)], [other], 1e-4).message, "y[3,2] is 50, not 17; 2 of 20 wrong")


class Strict(unittest.TestCase):
    def judge(self, truth, got, error=0.0):
        reference = (truth + error).float()
        return compare.judge_strictly([expected(reference, truth)], [got.float()])

    def setUp(self):
        self.truth = torch.randn(100, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

    def test_the_floor(self):
        size = self.truth.abs().mean()
        for times, right in ((0.5, True), (0.95, True), (1.1, False)):
            off = times * 2.0**-16 * (self.truth.abs() + size)
            self.assertEqual(self.judge(self.truth, self.truth + off).right, right, times)

    def test_as_wrong_as_the_reference(self):
        error = 1e-3 * torch.randn(100, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        other = 1e-3 * torch.randn(100, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
        self.assertTrue(self.judge(self.truth, self.truth + other, error).right)
        self.assertFalse(self.judge(self.truth, self.truth + 4 * other, error).right)
        self.assertFalse(self.judge(self.truth, self.truth + other).right)

    def test_never_off_by_a_share_of_the_outputs(self):
        """Whatever the reference errs, and however it moves."""
        generator = torch.Generator().manual_seed(3)
        size = self.truth.abs().mean()
        for share in (0.01, 0.1, 1.0):
            error = share * size * torch.randn(100, 100, dtype=torch.float64, generator=generator)
            expecteds = [expected((self.truth + error).float(), self.truth)]
            self.assertEqual(compare.chaotic(expecteds), share > 0.02)
            self.assertTrue(0.5 * share < compare.share_off(expecteds) < share)

            def moved_by(_, error=error):
                return [(self.truth + 100 * error).view(-1)]

            for got in (torch.zeros(100, 100), torch.full((100, 100), size), self.truth * 1.3, self.truth + 0.3 * size):
                self.assertFalse(compare.judge_strictly(expecteds, [got.float()], moved_by).right, share)
            for got in (self.truth, self.truth + error):
                self.assertTrue(compare.judge_strictly(expecteds, [got.float()]).right)

    def test_what_is_not_finite(self):
        reference = torch.tensor([float("inf"), float("-inf"), float("nan"), 1.0])
        truth = reference.double()
        self.assertTrue(compare.judge_strictly([expected(reference, truth)], [reference.clone()]).right)
        for at, value in ((0, 3e38), (0, float("-inf")), (1, float("nan")), (2, 1.0), (3, float("inf")), (3, float("nan"))):
            got = reference.clone()
            got[at] = value
            self.assertFalse(compare.judge_strictly([expected(reference, truth)], [got]).right, (at, value))

    def test_what_may_be_anything(self):
        reference = torch.tensor([float("inf"), float("nan"), float("nan"), 1.0, 2.0])
        one = expected(reference, reference.double())
        one.free = torch.tensor([False, True, False, False, True])
        for at, value, right in ((0, float("nan"), False), (1, 3.0, True), (2, 3.0, False), (3, 2.0, False), (4, float("nan"), True)):
            got = reference.clone()
            got[at] = value
            self.assertEqual(compare.judge_strictly([one], [got]).right, right, at)

    def test_within_kernelbenchs_tolerance(self):
        """What is strictly right but not within it is right only where the reference itself is further off."""
        truth = 100 * self.truth
        off = 2.0**-16 * 50 * torch.ones_like(truth)
        for error, right in ((0.0, False), (1e-3, True)):
            reference = truth + error * torch.randn(100, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
            expecteds, got = [expected(reference.float(), truth)], (truth + off).float()
            self.assertTrue(compare.judge_strictly(expecteds, [got]).right)
            judged = compare.judge_strictly(expecteds, [got], tolerance=1e-4)
            self.assertEqual((judged.right, bool(judged.note)), (right, right), error)
        judged = compare.judge_strictly([expected(truth.float(), truth)], [truth.float()], tolerance=1e-4)
        self.assertEqual((judged.right, judged.note), (True, ""))

    def test_what_is_not_written(self):
        got = self.truth.float()
        got.view(torch.uint8).view(-1)[40:48] = 0xFF
        judged = self.judge(self.truth, got)
        self.assertEqual((judged.reason, judged.message), ("unwritten", "y[0,10] is not written; 2 of 10000 wrong"))

    def test_integers(self):
        one = torch.arange(10)
        self.assertTrue(compare.judge_strictly([expected(one)], [one.clone()]).right)
        self.assertEqual(compare.judge_strictly([expected(one)], [one + (one == 4)]).message, "y[4] is 5, not 4; 1 of 10 wrong")

    def test_sixteen_bits_differ_by_a_rounding(self):
        for dtype in (torch.float16, torch.bfloat16):
            reference = self.truth.to(dtype)
            neighbour = (reference.float() * (1 + torch.finfo(dtype).eps)).to(dtype)
            self.assertTrue(compare.judge_strictly([expected(reference, self.truth, dtype)], [neighbour]).right)
            self.assertFalse(compare.judge_strictly([expected(reference, self.truth, dtype)], [(reference.float() * 1.1).to(dtype)]).right)

    def test_scalars_and_nothing(self):
        self.assertEqual(compare.judge_strictly([expected(torch.tensor(2.0))], [torch.tensor(3.0)]).message, "y is 3, not 2; 1 of 1 wrong")
        self.assertTrue(compare.judge_strictly([expected(torch.empty(0, 3))], [torch.empty(0, 3)]).right)

    def test_nothing_left_of_the_outputs(self):
        """Far on the left of a GELU, right functions give 0 and 1e-20 alike."""
        nothing = torch.zeros(100)
        almost = torch.full((100,), -1e-20)
        self.assertFalse(compare.judge_strictly([compare.expected_of(nothing, nothing.double(), torch.float32)], [almost]).right)
        usual = compare.expected_of(nothing, nothing.double(), torch.float32, usual=0.4)
        self.assertTrue(compare.judge_strictly([usual], [almost]).right)
        small = 1e-3 * torch.randn(100, generator=torch.Generator().manual_seed(3))
        self.assertFalse(compare.judge_strictly([compare.expected_of(small, small.double(), torch.float32, usual=0.4)], [0.9 * small]).right)

    def test_what_rounding_its_inputs_moves_is_right(self):
        """A difference of large terms among small ones: the bound of the others does not know their size."""
        terms = torch.ones(1000, 2, dtype=torch.float64)
        terms[7] = 2.0**20
        generator = torch.Generator().manual_seed(1)
        calls = []

        def difference(inputs):
            return inputs[:, 0] - 0.5 * inputs[:, 1]

        def moved_by(pattern):
            calls.append(pattern)
            signs = torch.randint(0, 2, terms.shape, generator=generator).double() * 2 - 1
            return [difference(terms * (1 + 2.0**-18 * signs))]

        truth = difference(terms)
        expecteds = [compare.expected_of(truth.float(), truth, torch.float32)]
        got = truth.float()
        got[7] += 16  # 8 by the floor, and twice 6
        self.assertFalse(compare.judge_strictly(expecteds, [got]).right)
        self.assertTrue(compare.judge_strictly(expecteds, [got], moved_by).right)
        self.assertLessEqual(len(calls), compare.PATTERNS)
        self.assertIsNone(expecteds[0].moved)
        got[8] += 0.1
        self.assertFalse(compare.judge_strictly(expecteds, [got], moved_by).right)
        calls.clear()
        self.assertFalse(compare.judge_strictly(expecteds, [got + 50], moved_by).right)
        self.assertEqual(calls, [0])
        calls.clear()
        self.assertFalse(compare.judge_strictly(expecteds, [got + 1000], moved_by).right)
        self.assertEqual(calls, [])


class Draws(unittest.TestCase):
    def problem(self, inputs="torch.rand(64, 96)", forward="x"):
        return Problem(HEAD + f"class Model(nn.Module):\n    def forward(self, x):\n        return {forward}\n"
                       f"def get_inputs():\n    return [{inputs}]\ndef get_init_inputs():\n    return []\n", "fp32", "cpu")

    def drawn(self, form, problem=None, trial=0):
        tensor = draws.strict_inputs(problem or self.problem(), "key", trial, True, False, plain=True)[0][0]
        before = tensor.clone()
        draws.depart(tensor, form, draws.DEFINED_WITHIN.search((problem or self.problem()).source) is not None, 5)
        return before, tensor

    def test_the_same_key_draws_the_same(self):
        one, two, other = (draws.strict_inputs(self.problem(), key, 3, True, False) for key in ("a", "a", "b"))
        self.assertTrue(torch.equal(one[0][0], two[0][0]) and one[1] == two[1])
        self.assertFalse(torch.equal(one[0][0], other[0][0]))

    def test_each_form_departs_and_stays_finite(self):
        for inputs in ("torch.rand(64, 96)", "torch.randn(64, 96)", "torch.rand(3, 200)", "torch.rand(7)", "torch.randn(())"):
            for form in FINITE:
                before, after = self.drawn(form, self.problem(inputs))
                self.assertTrue(bool(after.isfinite().all()), form)
                if after.numel() > 1:
                    self.assertFalse(torch.equal(before, after), (form, inputs))

    def test_how_far_they_go(self):
        for inputs in ("torch.rand(64, 96)", "torch.randn(64, 96)"):
            before, after = self.drawn("spikes", self.problem(inputs))
            self.assertGreater((after.abs().max() / before.abs().max()).item(), 8000)
            self.assertLess((after.abs() > 10 * before.abs().max()).sum().item(), 9)
            for seed in range(10):
                tensor = before.clone()
                draws.depart(tensor, "magnitude", False, seed)
                self.assertTrue(1000 < (tensor.abs().max() / before.abs().max()).item() < 15000)
                tensor = before.clone()
                draws.depart(tensor, "offset", False, seed, common=seed)
                self.assertTrue(250 < (tensor.mean() / before.std()).abs().item() < 1030, seed)
                half = before.clone()
                draws.depart(half, "offset", False, seed, common=seed, reach=0.5)
                self.assertLess((half.mean() / before.std()).abs().item(), 40)

    def test_structure_has_exceptions(self):
        """Rows of zeros, rows that are constant and rows in order, but for a few elements; NaN, infinity and denormals."""
        for seed in range(5):
            rows = torch.rand(64, 512)
            draws.depart(rows, "structure", False, seed)
            zero, first = (rows == 0).sum(-1), (rows == rows[:, :1]).sum(-1)
            rises = ((rows.diff(dim=-1) >= 0).sum(-1), (rows.diff(dim=-1) <= 0).sum(-1))
            for count in (zero, first, torch.maximum(*rises).where((zero < 100) & (first < 100), 0)):
                self.assertGreaterEqual((count > 490).sum().item(), 15)
            self.assertTrue(bool(((zero > 490) & (zero < 512)).any()))
            for form, odd in (("specials", (0, 4)), ("specials_with_nan", (2, 4))):
                one = torch.rand(8, 64)
                draws.depart(one, form, False, seed)
                self.assertEqual((one.isnan().sum().item(), one.isinf().sum().item()), odd)
            self.assertTrue(bool(((one.abs() > 0) & (one.abs() < 1e-38)).any() and (one.signbit() & (one == 0)).any()))

    def test_nan_comes_where_a_problem_names_it(self):
        for said, names in (("torch.nan_to_num(x)", True), ("x.isnan()", True), ("torch.isfinite(x)", True), ("# NaN stays", True),
                            ("torch.relu(x)", False), ("nanometres * x", False), ("banana", False)):
            self.assertEqual(draws.names_nan(types.SimpleNamespace(source=said)), names, said)

    def test_what_inputs_have_in_common(self):
        """An offset, and one is a copy of the other but for a few elements."""
        problem = self.problem("torch.rand(16, 64), torch.rand(16, 64), torch.rand(16, 64)")
        for key in map(str, range(4)):
            for trial in range(len(draws.FORMS)):
                inputs, form = draws.strict_inputs(problem, key, trial, True, False)
                if form == "offset":
                    self.assertLess(max(one.mean() for one in inputs) - min(one.mean() for one in inputs), 0.2 * inputs[0].mean().abs())
                if form == "ends":
                    equal = [(one == other).sum().item() for one, other in ((inputs[0], inputs[1]), (inputs[0], inputs[2]), (inputs[1], inputs[2]))]
                    self.assertTrue(1024 - 8 <= max(equal) < 1024, equal)
        forms = [[draws.form_of_input(form, number, False) for form in draws.FORMS] for number in range(3)]
        self.assertTrue(all(sorted(one) == sorted(draws.FORMS) for one in forms))

    def test_losses_stay_within_their_range(self):
        problem = self.problem(forward="nn.functional.binary_cross_entropy(x, x)")
        for form in FINITE:
            _, after = self.drawn(form, problem)
            self.assertTrue(0 <= after.min() and after.max() <= 1, form)

    def test_each_form_is_drawn(self):
        for key in ("key", "other"):
            for turn in range(3):
                trials = range(turn * len(draws.FORMS), (turn + 1) * len(draws.FORMS))
                found = [draws.strict_inputs(self.problem("torch.rand(4, 4)"), key, trial, True, False)[1] for trial in trials]
                self.assertEqual(sorted(found), sorted([*FINITE, "whole", "plain"]))
            self.assertEqual(draws.choose_form(key, 0, False), "centred")

    def test_indices_stay_as_drawn(self):
        problem = self.problem("torch.randint(0, 9, (50,))")
        for trial in range(40):
            drawn = draws.strict_inputs(problem, "key", trial, True, False)[0][0]
            self.assertTrue(bool(((drawn == drawn.round()) & (drawn >= 0) & (drawn < 9)).all()))
            self.assertEqual(drawn.dtype, torch.float32)
            self.assertEqual(draws.strict_inputs(problem, "key", trial, False, False)[0][0].dtype, torch.int64)

    def test_where_an_index_is_asked_for_no_elements_are_equal(self):
        for trial in range(60):
            drawn, form = draws.strict_inputs(self.problem("torch.randn(6, 50)"), "key", trial, True, True)
            self.assertIn(form, draws.UNTIED)


class Weights(unittest.TestCase):
    SOURCE = HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 6)
        self.norm = nn.BatchNorm1d(6)
        self.scale = nn.Parameter(torch.full((6,), 0.25))
        self.register_buffer("mask", torch.ones(6))
        self.register_buffer("table", torch.arange(6.0))
        self.tied = self.linear.weight

def get_inputs():
    return [torch.rand(4, 8)]

def get_init_inputs():
    return []
"""

    def test_moved_away_from_constants(self):
        problem = Problem(self.SOURCE, "fp32", "cpu")
        model = problem.build(problem.module.Model, [])
        made = weights.strict_model(problem, [], model, "key").state_dict()
        other = weights.strict_model(problem, [], model, "other").state_dict()
        before = model.state_dict()
        for name in ("linear.weight", "linear.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "scale"):
            self.assertFalse(torch.equal(made[name], before[name]), name)
            self.assertFalse(torch.equal(made[name], other[name]), name)
        for name in ("mask", "table", "norm.num_batches_tracked"):
            self.assertTrue(torch.equal(made[name], before[name]), name)
        self.assertTrue(torch.equal(made["tied"], made["linear.weight"]))
        self.assertTrue(bool((made["norm.running_var"] > 0).all() and (made["scale"] > 0).all()))
        self.assertGreater((made["norm.weight"] - 1).abs().mean(), 0.1)


class Power(unittest.TestCase):
    def weak(self, outputs, inputs=None):
        inputs = inputs or [torch.full((3,), 5.0)]
        cases = [([expected(one, one.double())], inputs, [expected(other, other.double())]) for one, other in outputs]
        return power.passing(cases, compare.judge_strictly)

    def test_names_of_what_passes(self):
        one, two = torch.randn(30, 30), torch.randn(30, 30)
        self.assertEqual(self.weak([(one, two), (two, one)]), [])
        zeros = torch.zeros(5)
        self.assertEqual(self.weak([(zeros, zeros)]), ["constant", "stale", "zeros"])
        self.assertEqual(self.weak([(one, two)], [one]), ["copy"])
        seven = torch.full((6,), 7.0)
        self.assertEqual(self.weak([(seven, seven)]), ["constant", "stale"])
        self.assertEqual(self.weak([(seven, one[0, :6])], [torch.full((3,), 7.0)]), ["mean"])
        self.assertEqual(self.weak([(zeros, zeros), (one, two)]), [])


class Facts(unittest.TestCase):
    def test_kernelbenchs_seeds(self):
        import comparable
        self.assertEqual(comparable.trial_seeds(5), [734796314, 576165995, 2197670066, 839703249, 2584932063])

    def test_no_sense_of_two_places(self):
        import judged
        specs = [{"sizes": [5, 3], "strides": [3, 1], "type": "f32"}, {"sizes": [700], "strides": [1], "type": "bf16"}]
        offsets = set()
        for _ in range(50):
            placed = judged.placed(specs, 1024)
            offsets.add(placed[1]["offset"])
            self.assertTrue(all(one["offset"] % 256 == 0 for one in placed))
            self.assertGreaterEqual(placed[1]["offset"], placed[0]["offset"] + 60)
            self.assertLessEqual(placed[1]["offset"] + 1400, 1024 + judged.region_bytes(specs))
        self.assertGreater(len(offsets), 10)

    def test_ranges_of_memory(self):
        import exchange
        self.assertEqual(exchange.extent([3, 4], [4, 1]), 12)
        self.assertEqual(exchange.extent([3, 4], [1, 3]), 12)
        self.assertEqual(exchange.extent([3, 4], [0, 1]), 4)
        self.assertEqual(exchange.extent([3, 0], [1, 1]), 0)
        self.assertEqual(exchange.extent([], []), 1)


if __name__ == "__main__":
    unittest.main()
