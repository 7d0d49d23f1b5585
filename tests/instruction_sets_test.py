"""The policy's sums on processors that know less than this one: python3 tests/instruction_sets_test.py build/temper build/policy_tests

glibc.cpu.hwcaps hides from the dynamic loader, and from libm, what a processor knows."""

import os
import subprocess
import sys
import unittest

TEMPER = POLICY_TESTS = ""
HIDDEN = {"x86-64": "-AVX512F,-AVX2", "x86-64-v3": "-AVX512F"}
KNOWN = {"x86-64-v3": {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe", "abm"},
         "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}}
# Ops beside plain sums, gradients beside finite differences, and what must have the same bits.
TESTS = "Ops/*:VectorMath*:Gradient*:KvCache*:Policy.*:Masked*:Families*:Sampler*"


def run(*words, instruction_set=None):
    environment = dict(os.environ)
    environment.pop("GLIBC_TUNABLES", None)
    if instruction_set in HIDDEN:
        environment["GLIBC_TUNABLES"] = f"glibc.cpu.hwcaps={HIDDEN[instruction_set]}"
    return subprocess.run(words, capture_output=True, text=True, env=environment, timeout=900)


def known_here():
    """The sets that this processor knows, from the least."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((set(line.split()) for line in file if line.startswith("flags")), set())
    return ["x86-64"] + [name for name in ("x86-64-v3", "x86-64-v4") if all(KNOWN[k] <= flags for k in KNOWN if k <= name)]


class InstructionSets(unittest.TestCase):
    def test_the_best_that_the_processor_knows_is_loaded(self):
        for name in known_here():
            with self.subTest(name):
                done = run(TEMPER, "version", instruction_set=name)
                self.assertIn(f"CPU ops   {name}\n", done.stdout, done.stderr)
        self.assertIn(f"CPU ops   {known_here()[-1]}\n", run(TEMPER, "version").stdout)

    def test_each_computes_what_it_should(self):
        for name in known_here()[:-1]:  # the best one is what all other tests run on
            with self.subTest(name):
                done = run(POLICY_TESTS, f"--gtest_filter={TESTS}", instruction_set=name)
                self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)
                self.assertRegex(done.stdout, r"\[  PASSED  \] [1-9][0-9]+ tests")


if __name__ == "__main__":
    TEMPER, POLICY_TESTS = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
