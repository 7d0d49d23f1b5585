"""What a run is planned to take of a GPU, beside what it took: python3 tests/plan_gpu_test.py build. 77: there is no GPU."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import jobs
import ranks_gpu_test as gpu

SHAPE = ("model.hidden_size=2048 model.intermediate_size=6144 model.num_hidden_layers=8 model.num_attention_heads=16 "
         "model.num_key_value_heads=8 model.head_dim=128 model.vocab_size=8192 model.max_position_embeddings=4096 "
         "model.device=cuda").split()
NEAR = 0.03


class Plans(unittest.TestCase):
    def expect_near(self, ranks, *words, batch=8, length=1024):
        if gpu.gpu_count() < ranks:
            self.skipTest(f"{gpu.gpu_count()} GPUs, {ranks} needed")
        command = [jobs.BUILD / "temper", "bench", "train", "--json", "--batch", batch, "--length", length, "--seconds", 0.5,
                   *SHAPE, *words]
        if ranks > 1:
            command = [*jobs.MPIRUN, "-n", ranks, *command]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout.strip().splitlines()[-1])
        ratio = told["planned_bytes"] / told["peak_bytes"]
        print(f"{' '.join(words) or 'plain'}, {ranks} ranks: planned {told['planned_bytes'] / 2**30:.2f} GiB, "
              f"at most {told['peak_bytes'] / 2**30:.2f}, ratio {ratio:.3f}", file=sys.stderr)
        self.assertLess(abs(ratio - 1), NEAR)

    def test_one_gpu(self):
        self.expect_near(1)

    def test_long_rows(self):
        self.expect_near(1, batch=2, length=4096)

    def test_recomputation(self):
        for part in ("feed_forward", "all"):
            with self.subTest(part):
                self.expect_near(1, f"model.recompute={part}")

    def test_some_blocks_are_recomputed(self):
        self.expect_near(1, "model.recompute=all", "model.recompute_blocks=3")

    def test_some_blocks_are_offloaded(self):
        self.expect_near(1, "model.recompute=all", "model.offload_activations=3")

    def test_offloaded_state(self):
        self.expect_near(1, "model.offload_optimizer=true")

    def test_sharded(self):
        for stage in (1, 2, 3):
            with self.subTest(stage):
                self.expect_near(2, f"model.zero_stage={stage}")

    def test_sharded_and_offloaded(self):
        self.expect_near(2, "model.zero_stage=3", "model.offload_optimizer=true", "model.recompute=all")


if __name__ == "__main__":
    jobs.BUILD = Path(sys.argv.pop(1)).resolve()
    if gpu.gpu_count() == 0:
        print("no GPU: nothing to plan for")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as directory:
        jobs.WORK = Path(directory)
        unittest.main(verbosity=2)
