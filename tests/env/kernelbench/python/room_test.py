"""What may be kept beside what is needed."""
import unittest

import sources  # noqa: F401
import room


def roomy(available, strict=150, comparable=200):
    keep = room.Room.__new__(room.Room)
    keep.available, keep.strict_bytes, keep.comparable_bytes = available, strict, comparable
    return keep


class Fit(unittest.TestCase):
    FOUND = {"inputs": 10, "weights": 4, "outputs": 3}
    NEEDED = 3 * 10 + 8 * 4 + 5 * 3 + 2 * 13  # in fp32, worked out by hand: 103

    def test_kept_draws_take_what_is_left(self):
        keep = roomy(self.NEEDED + 35)
        keep.fit(self.FOUND, 4)
        self.assertEqual((keep.strict_bytes, keep.comparable_bytes), (15, 20))

    def test_nothing_is_kept_where_nothing_is_left(self):
        for available in (0, self.NEEDED):
            keep = roomy(available)
            keep.fit(self.FOUND, 4)
            self.assertEqual((keep.strict_bytes, keep.comparable_bytes), (0, 0))

    def test_no_more_is_kept_than_its_share(self):
        keep = roomy(self.NEEDED + 10**6)
        keep.fit(self.FOUND, 4)
        self.assertEqual((keep.strict_bytes, keep.comparable_bytes), (150, 200))

    def test_float64_takes_more_of_short_numbers(self):
        keep = roomy(self.NEEDED + 35)
        keep.fit(self.FOUND, 2)
        self.assertEqual((keep.strict_bytes, keep.comparable_bytes), (0, 0))


if __name__ == "__main__":
    unittest.main()
