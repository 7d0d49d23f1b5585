"""Ranks that make given collective calls, some of them others than the rest: python3 tests/ranks_calls_test.py build"""

import os
import random
import re

import jobs
from jobs import Ranks, start_by_hand, wait_all


def wait_each(processes):
    return [wait_all([process]) for process in processes]


class Calls(Ranks):
    """Ranks that make given calls, some of them others than the rest: all end, and the message names the call."""

    def make(self, *by_rank):
        return wait_all(start_by_hand(len(by_rank), lambda rank: [jobs.BUILD / "ranks_collectives", "calls", *by_rank[rank]]))

    def expect_end(self, ended, *texts):
        self.assertTrue(all(code in (3, -9) for code in ended.codes), f"{ended.codes} {ended.text}")
        self.assertEqual(ended.text.count("; all ranks end"), 1, ended.text)
        for text in texts:
            self.assertIn(text, ended.text)

    STEP = ["sum:loss", "scatter:gradients:100", "sum:norm", "note:update:1", "gather:weights:100", "text:answers:50"]

    def test_like_calls(self):
        self.expect_ok(self.make(*[self.STEP * 3] * 3), 3)

    def test_a_call_left_out(self):
        without = self.STEP * 2 + ["sum:loss", *self.STEP[2:], *self.STEP]
        self.expect_end(self.make(self.STEP * 4, without, self.STEP * 4), "rank 1 of 3",
                        "it left out call ", ', the reduce-scatter "gradients" of 100 × f32, and went on with the all-reduce "norm"')
        self.expect_end(self.make(without, self.STEP * 4), "rank 0 of 2", " and rank 1 of 2", 'rank 0 left out the reduce-scatter "gradients"')

    def test_another_shape(self):
        other = ["scatter:gradients:101" if word == "scatter:gradients:100" else word for word in self.STEP]
        self.expect_end(self.make(self.STEP * 2, self.STEP * 2, self.STEP + other), "rank 2 of 3", ' is the reduce-scatter "gradients" '
                        'of 101 × f32, that of the others the reduce-scatter "gradients" of 100 × f32')

    def test_another_number(self):
        """No message differs, and all come to the end together: it is compared there."""
        self.expect_end(self.make(["sum:loss", "note:batch:5"], ["sum:loss", "note:batch:6"], ["sum:loss", "note:batch:5"]),
                        "rank 1 of 3", 'is the note "batch" of 6, that of the others the note "batch" of 5')

    def test_the_last_call_left_out(self):
        """Those that wait would wait for ever."""
        leaves, waits = [*self.STEP, "sleep:8000", "leave"], [*self.STEP, "sum:last", "leave"]  # all others wait by then
        ended = self.make(waits, leaves, waits)
        self.assertEqual(ended.codes, [3, 0, 3], ended.text)  # rank 1 had come to its end
        for text in ("rank 1 of 3", "has come to its end and left out a collective call: ranks 0 and 2 wait in call ",
                     ', the all-reduce "last" of 1 × f64; all ranks end'):
            self.assertIn(text, ended.text)
        left, waiting = wait_each(start_by_hand(2, lambda rank: [jobs.BUILD / "ranks_collectives", "calls", *([waits, leaves][1 - rank])]))
        self.assertEqual([left.codes, waiting.codes], [[0], [3]], left.text + waiting.text)
        self.assertIn("rank 0 of 2", waiting.text)
        self.assertIn('left out a collective call: rank 1 waits in call ', waiting.text)

    def test_who_waits_for_whom(self):
        waits, late = [*self.STEP, "sum:last"], [*self.STEP, "sleep:300000", "sum:last"]
        self.expect_end(self.make(waits, waits, late), "rank 2 of 3", 'while others wait in the collective "last": ranks 0 and 1 wait in call ',
                        ', the all-reduce "last" of 1 × f64')

    def test_who_waits_on_its_device_does_not_hang(self):
        """Its main thread makes no progress, as that of the other, which is the one that hangs."""
        self.expect_end(self.make([*self.STEP, "device:weights:300000", "sleep:300000"], [*self.STEP, "sleep:300000"]), "rank 1 of 2",
                        'hangs in start-up: no progress for ', 'while others wait in the collective "weights"')

    def test_a_call_on_a_device_that_does_not_end(self):
        """The main thread may wait for the device for ever: the watch ends all without it."""
        doomed = [*self.STEP, "doomed:weights:300000", "device:more weights:300000"]
        works = [*self.STEP, *(["device:its own:100", "sleep:500"] * 600)]
        for words in ([*doomed, "sleep:300000"], [*doomed, "sleep:8000", "sum:the next call"]):
            # It may be said, too, that the device has come to the call after that one.
            self.expect_end(self.make(words, works), "rank 0 of 2", "failed in start-up", 'the all-gather "weights" did not end within 2 s')

    def test_a_failure_that_another_ranks_calls_led_to(self):
        """Who fails may have met another call's numbers: whose calls differ is said, not what they were taken for."""
        like, unlike = [*self.STEP, "note:batch:5", "sum:last"], [*self.STEP, "note:batch:6", "sum:last"]
        self.expect_end(self.make([*like, "throw:nonsense"], like, unlike), "rank 2 of 3", 'is the note "batch" of 6')

    def test_a_failure_of_its_own(self):
        self.expect_end(self.make(self.STEP + ["throw:nonsense"], self.STEP * 2, self.STEP * 2), "rank 0 of 3", ": nonsense; all ranks end")

    def test_any_change_is_named(self):
        """Calls drawn at random, and one of a rank left out, added or of another shape."""
        draw = random.Random(7)
        for trial in range(int(os.environ.get("TEMPER_TRIALS", "12"))):
            step = [draw.choice(("sum:s{}", "gather:g{}:{}", "scatter:r{}:{}", "text:t{}:{}", "note:n{}:{}")).format(i, draw.randint(1, 3000))
                    for i in range(draw.randint(2, 8))]
            calls = step * draw.randint(2, 6)
            count, place = draw.randint(2, 4), draw.randrange(len(step), len(calls))
            odd_rank, odd, name = draw.randrange(count), list(calls), calls[place].split(":")[1]
            kind = draw.choice(("left out", "added", "shape"))
            if kind == "shape" and calls[place][0] in "st":
                kind = "left out"  # of one shape
            if kind == "left out":
                del odd[place]
            elif kind == "added":
                odd.insert(place, f"sum:x{place}")
                name = f"x{place}"
            else:
                odd[place] = re.sub(r"\d+$", lambda number: str(int(number[0]) + 1), calls[place])
            with self.subTest(trial=trial, kind=kind, count=count, rank=odd_rank, word=calls[place], step=step):
                ended = self.make(*[odd if rank == odd_rank else calls for rank in range(count)])
                said = {"left out": "left out", "added": "did not make", "shape": "its call "}[kind] if count > 2 else "different"
                self.expect_end(ended, f"rank {odd_rank} of {count}", said, f'"{name}"')


if __name__ == "__main__":
    jobs.run_tests("ranks_calls")
