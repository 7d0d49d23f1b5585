"""What of a call lies where a candidate can see it, and when: nothing of the inputs before the clock runs, nor after its result is there."""
import os
import time
import unittest

from headers import HERE
from judging import Bench

import drive  # judging.py knows where it is

PROBLEM = "level1/3_row_softmax.py"
PAUSE_S = 0.05


def gallery(name):
    return (HERE / f"candidates/gallery/{name}.py").read_text()


class Protocol(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bench = Bench()
        cls.bench.load(PROBLEM)
        cls.reference = cls.bench.reference
        cls.ask = cls.reference.ask

    @classmethod
    def tearDownClass(cls):
        cls.bench.close()

    def tearDown(self):
        self.reference.ask = self.ask

    def pause_around_draws(self):
        """As a broker does that does not get its core: whoever watches the memory has time to."""
        def asked(**request):
            pause = PAUSE_S if request["op"] == "draw" else 0
            time.sleep(pause)
            answer = self.ask(**request)
            time.sleep(pause)
            return answer
        self.reference.ask = asked

    def bytes_at(self, spec):
        count = 4
        for size in spec["sizes"]:
            count *= size
        return os.pread(self.reference.exchange, count, spec["offset"])

    def call(self):
        """The exchange's inputs after each step of a call."""
        self.ask(op="weights", kind="strict", key="12")
        places = [self.ask(op="place", kind="strict", trial=0, key="12")["inputs"][0] for _ in range(3)]
        self.assertNotEqual(places[0]["offset"], places[1]["offset"])
        seen = [self.bytes_at(places[2])]
        self.assertEqual(self.ask(op="draw", number=self.reference.number)["status"], "ok")
        for step in (None, drive.SHOW, drive.RETRACT, drive.SNAPSHOT):
            if step is not None:
                self.reference.take(step)
            seen.append(self.bytes_at(places[2]))
        self.assertEqual(self.reference.leave()["status"], "ok")
        return seen

    def test_inputs_are_there_while_the_clock_runs(self):
        before, drawn, shown, retracted, left = self.call()
        self.assertEqual(before, drawn)
        self.assertNotEqual(before, shown)
        self.assertEqual(retracted, b"\xff" * len(shown))
        self.assertEqual(left, retracted)

    def test_nobody_sees_them_before(self):
        self.pause_around_draws()
        strict, _, told = self.bench.judge(gallery("knows_inputs_before_the_clock"), gated=False)
        self.assertEqual(strict, "FAIL_INCORRECT tolerance", told)

    def test_steps_that_fail_are_told(self):
        self.ask(op="weights", kind="strict", key="12")
        self.ask(op="place", kind="strict", trial=0, key="12")
        self.assertEqual(self.ask(op="draw", number=self.reference.number)["status"], "ok")
        self.reference.take(drive.SHOW)
        self.reference.take(77)
        self.reference.take(drive.SNAPSHOT)
        self.assertEqual(self.reference.leave()["status"], "failed")


if __name__ == "__main__":
    unittest.main()
