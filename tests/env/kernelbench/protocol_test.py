"""What of a call lies where a party can see it, and when: nothing of the inputs before the clock runs, and nothing ever of what others compute on."""
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
        cls.ask, cls.trial = cls.reference.ask, 0

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

    def bytes_at(self, spec, exchange):
        count = 4
        for size in spec["sizes"]:
            count *= size
        return os.pread(self.reference.exchanges[exchange], count, spec["offset"])

    def call(self, exchange):
        """What both exchanges hold, where its inputs will lie, after each step of a call."""
        self.ask(op="weights", kind="strict", key="12", exchange=exchange)
        places = [self.ask(op="place", kind="strict", trial=self.trial, key="12", exchange=exchange, party=1)["inputs"][0] for _ in range(3)]
        self.assertNotEqual(places[0]["offset"], places[1]["offset"])
        self.trial += 1
        look = lambda: [self.bytes_at(places[2], at) for at in range(2)]  # noqa: E731
        seen = [look()]
        self.assertEqual(self.ask(op="draw", number=self.reference.number)["status"], "ok")
        for step in (None, drive.SHOW, drive.SNAPSHOT):
            if step is not None:
                self.reference.take(step)
            seen.append(look())
        self.assertEqual(self.reference.leave()["status"], "ok")
        return seen

    def test_inputs_are_there_while_the_clock_runs_and_for_one_party_alone(self):
        for exchange in range(2):
            before, drawn, shown, left = self.call(exchange)
            self.assertEqual(before, drawn)
            self.assertNotEqual(before[exchange], shown[exchange])
            self.assertEqual(before[1 - exchange], left[1 - exchange])

    def test_nobody_sees_them_before(self):
        self.pause_around_draws()
        strict, _, told = self.bench.judge(gallery("knows_inputs_before_the_clock"), gated=False)
        self.assertEqual(strict, "FAIL_INCORRECT tolerance", told)

    def test_steps_that_fail_are_told(self):
        self.ask(op="weights", kind="strict", key="12", exchange=1)
        self.ask(op="place", kind="strict", trial=0, key="12", exchange=1, party=1)
        self.assertEqual(self.ask(op="draw", number=self.reference.number)["status"], "ok")
        self.reference.take(drive.SHOW)
        self.reference.take(77)
        self.reference.take(drive.SNAPSHOT)
        self.assertEqual(self.reference.leave()["status"], "failed")


if __name__ == "__main__":
    unittest.main()
