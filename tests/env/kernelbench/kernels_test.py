"""Which kernels are a candidate's own."""
import gc
import pathlib
import sys
import tempfile
import unittest

import module_judge  # noqa: F401
import torch  # noqa: F401
from headers import load_file

import kernels

SOURCE = """
import triton


@triton.jit
def own_softmax(x):
    pass
"""


class Origins(unittest.TestCase):
    def test_functions_of_triton_are_found_when_all_is_frozen(self):
        """A candidate's process freezes what it has built, so that nothing is collected while calls are timed."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "candidate.py"
            file.write_text(SOURCE)
            self.module = load_file(file)
            gc.collect()
            gc.freeze()
            self.addCleanup(gc.unfreeze)
            self.assertIn("own_softmax", kernels.triton_names())

    def test_names_tell_whose_a_kernel_is(self):
        own = {"own_softmax"}
        for name, origin in (("own_softmax", "candidate"), ("void at::native::elementwise_kernel<4>(int)", "torch"),
                             ("sm90_xmma_gemm_f32f32", "vendor"), ("of_nobody", "vendor"), ("Memset", "memset"), ("Memcpy", "copy")):
            self.assertEqual(kernels.origin_of(name, own), origin, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
