"""Triton's first kernel: compiled without a driver, in a process that can still be forked."""
import os
import sys
import tempfile
import unittest
import unittest.mock

import sources  # noqa: F401

try:
    import torch
    import triton
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import warming


def threads():
    return len(os.listdir("/proc/self/task"))


class Warming(unittest.TestCase):
    def test_a_kernel_is_compiled(self):
        before = threads()
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, TRITON_CACHE_DIR=folder):
            kernel = warming.compile_one()
            self.assertEqual(os.listdir(folder), [])  # no candidate finds it there
        self.assertIn(".target sm_90", kernel.asm["ptx"])
        self.assertTrue(kernel.asm["cubin"])
        self.assertFalse(torch.cuda.is_initialized())
        self.assertLessEqual(threads(), before)

    def test_where_triton_cannot_compile(self):
        with unittest.mock.patch.object(triton, "compile", side_effect=RuntimeError("no ptxas")):
            self.assertIsNone(warming.compile_one())


if __name__ == "__main__":
    unittest.main()
