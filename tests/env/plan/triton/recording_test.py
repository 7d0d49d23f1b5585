"""What stands in the plan of a few small candidates, to the byte."""
import struct
import unittest

from client import ZygoteTest, candidate, request_for
from plans import argument
from tasks import headers, request_of, shape

HEAD = "import torch, triton\nimport triton.language as tl\nfrom triton.tools.tensor_descriptor import TensorDescriptor\n"
ADD = HEAD + """
@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)
"""


class Recording(ZygoteTest):
    def plans(self, request):
        reply, self.cubins = self.zygote.plan(request)
        self.assertEqual(reply["status"], "ok", reply)
        return reply["plans"]

    def steps(self, name):
        return self.plans(request_for(candidate(name)))[-1]["steps"]

    def plan_of(self, source, inputs, outputs, **dims):
        return self.plans(request_of([shape(inputs, outputs, **dims)], source))[0]

    def test_pointers_and_sizes(self):
        plan = self.plan_of(ADD + "def launch(x, n):\n    y = torch.empty_like(x)\n    add_kernel[(4,)](x[2:], y, n, BLOCK=256)\n    return y\n",
                            {"x": "f32 1000"}, {"y": "f32 1000"}, n=999)
        self.assertEqual(plan["kernels"], [{"name": "add_kernel", "cubin": 0, "max_dynamic_shared": 0}])
        self.assertEqual(plan["workspaces"], [])
        # Two pointers, n, and after padding the two pointers to scratch memory.
        self.assertEqual(plan["steps"], [{"launch": {
            "kernel": 0, "grid": [4, 1, 1], "block": [128, 1, 1], "cluster": [1, 1, 1], "shared": 0, "cooperative": False,
            "programmatic": False, "arguments": (bytes(16) + struct.pack("<i", 999) + bytes(20)).hex(), "tensor_maps": [],
            "relocations": [{"at": 0, "space": "input", "index": 0, "offset": 8}, {"at": 8, "space": "output", "index": 0, "offset": 0}]}}])

    def test_scalars(self):
        launch = self.steps("scalars_of_every_width")[0]["launch"]
        # x, y, n i32, small i32, long i64, unsigned u64, number fp32, flag u1, half, brain, double, short
        values = [(16, "i", 100), (20, "i", -7), (24, "q", 1 << 40), (32, "Q", (1 << 63) + 5), (40, "f", 1.5), (44, "B", 1),
                  (46, "H", 0x2E66), (48, "H", 0x3DCC), (56, "d", 1e300), (64, "h", 12)]
        for at, form, value in values:
            self.assertEqual(argument(launch, at, form), value, (at, form))

    def test_attributes(self):
        self.assertTrue(self.steps("cooperative_barrier")[-1]["launch"]["cooperative"])
        self.assertTrue(all(step["launch"]["programmatic"] for step in self.steps("dependent_launch")))
        launch = self.steps("cluster")[0]["launch"]
        self.assertEqual((launch["cluster"], launch["grid"][0]), ([2, 1, 1], 2 * 4096 * 2048 // 2048))

    def test_shared_memory_is_asked_for(self):
        plan = self.plans(request_for(candidate("matmul_tma_host")))[-1]
        launch, kernel = plan["steps"][0]["launch"], plan["kernels"][0]
        self.assertGreater(launch["shared"], 48 << 10)
        self.assertEqual(kernel["max_dynamic_shared"], launch["shared"])

    def test_tensor_maps(self):
        maps = self.steps("matmul_tma_host")[0]["launch"]["tensor_maps"]
        # x is 2048 × 4096 of f16: innermost first, blocks of 128 × 64, rows of 8192 bytes.
        self.assertEqual(maps[0], {"at": maps[0]["at"], "space": "input", "index": 0, "offset": 0, "element_type": 6, "swizzle": 3,
                                   "fill": 0, "box": [64, 128], "sizes": [4096, 2048], "strides": [8192]})
        self.assertEqual([one["space"] for one in maps], ["input", "input", "output"])
        self.assertEqual(maps[2]["sizes"], [1024, 2048])

    def test_tensor_map_of_one_dimension(self):
        one, other = self.steps("one_dimensional_descriptor")[0]["launch"]["tensor_maps"]
        self.assertEqual((one["sizes"], one["strides"], one["box"], one["fill"], one["element_type"]), ([4096], [], [256], 1, 9))
        self.assertEqual(other["fill"], 0)

    def test_descriptors_of_older_gpus(self):
        launch = self.steps("descriptors_without_tensor_maps")[0]["launch"]
        self.assertEqual(launch["tensor_maps"], [])
        # pointer, shape and strides as i64, padding, shape as i32, strides as i64
        forms = [(8, "q", 64), (16, "q", 64), (24, "q", 64), (32, "q", 1), (40, "b", 1), (44, "i", 64), (48, "i", 64), (56, "q", 64)]
        for at, form, value in forms:
            self.assertEqual(argument(launch, at, form), value, (at, form))

    def test_scratch_is_a_workspace(self):
        plan = self.plans(request_for(candidate("tiny_mlp_tma_device")))[-1]
        launch = plan["steps"][0]["launch"]
        self.assertEqual([one["space"] for one in launch["relocations"]].count("workspace"), 1)
        self.assertEqual(plan["workspaces"][0] % launch["grid"][0], 0)

    def test_alternatives(self):
        choose = self.steps("batch_norm_tuned")[0]["choose"]
        self.assertEqual(choose["slot"], 0)
        self.assertEqual([one["configuration"] for one in choose["alternatives"]], [0, 1, 2])
        self.assertEqual(choose["alternatives"][1]["text"], "BLOCK: 1024, num_warps: 4, num_stages: 3")
        launches = [one["steps"][0]["launch"] for one in choose["alternatives"]]
        self.assertEqual([launch["block"][0] for launch in launches], [64, 128, 256])
        self.assertEqual([launch["grid"][0] for launch in launches], [65536, 16384, 4096])

    def test_slots_are_one_for_each_tuner_and_key(self):
        self.assertEqual([step["choose"]["slot"] for step in self.steps("swiglu_two_tuners")], [0, 1])
        twice = candidate("batch_norm_tuned").replace("    return y\n", "    batch_norm_kernel[lambda meta: (triton.cdiv(count, meta[\"BLOCK\"]),)]"
                                                      "(x, m, v, w, b, y, c, h * q, count)\n    return y\n")
        steps = self.plans({**request_for(candidate("batch_norm_tuned")), "source": twice})[0]["steps"]
        self.assertEqual([step["choose"]["slot"] for step in steps], [0, 0])

    def test_pruned_configurations_keep_their_numbers(self):
        alternatives = self.steps("scale_rows_pruned")[0]["choose"]["alternatives"]
        self.assertEqual([one["configuration"] for one in alternatives], [6, 5, 4])  # 2048, 1024 and 512 are nearest to 2048 columns

    def test_configurations_that_do_not_fit_are_left_out(self):
        self.assertEqual([one["configuration"] for one in self.steps("too_large_configuration")[0]["choose"]["alternatives"]], [1])

    def test_hooks_of_a_configuration_are_part_of_it(self):
        for one in self.steps("configuration_hook")[0]["choose"]["alternatives"]:
            self.assertEqual([kind for step in one["steps"] for kind in step], ["memset", "launch"])

    def test_what_a_tuner_does_while_it_tunes_is_not(self):
        for name in ("restores_value", "tuner_zeroes_output"):
            for one in self.steps(name)[-1]["choose"]["alternatives"]:
                self.assertEqual([kind for step in one["steps"] for kind in step], ["launch"])

    def test_fills(self):
        fills = [(one["memset"]["value"], one["memset"]["width"], one["memset"]["count"], one["memset"]["offset"]) for one in self.steps("fills")]
        self.assertEqual(fills, [(0x3DCD, 2, 16, 0), (0, 4, 16, 0), (0xFFFFFFF9, 4, 16, 0), (0x4000, 2, 2, 2)])

    def test_copies_of_what_is_no_output_of_its_own(self):
        steps = self.steps("returns_an_input")
        self.assertEqual([one["copy"]["from"] for one in steps], [{"space": "input", "index": 0, "offset": 0}] * 2)
        self.assertEqual([one["copy"]["to"]["index"] for one in steps], [0, 1])
        twice = self.steps("returns_one_twice")[1]["copy"]
        self.assertEqual((twice["from"], twice["to"], twice["bytes"]), ({"space": "output", "index": 0, "offset": 0},
                                                                        {"space": "output", "index": 1, "offset": 0}, 64))

    def test_unused_allocations_are_no_workspaces(self):
        source = ADD + "def launch(x, n):\n    torch.empty(7, device=x.device)\n    y, t = torch.empty_like(x), torch.empty(3000, device=x.device)\n" \
            "    add_kernel[(4,)](x, t, n, BLOCK=256)\n    add_kernel[(4,)](t, y, n, BLOCK=256)\n    return y\n"
        self.assertEqual(self.plan_of(source, {"x": "f32 1000"}, {"y": "f32 1000"}, n=1000)["workspaces"], [12000])

    def test_null_pointers_have_no_relocation(self):
        source = HEAD + "@triton.jit\ndef add_kernel(x, z, y, n, BLOCK: tl.constexpr):\n    at = tl.arange(0, BLOCK)\n" \
            "    v = tl.load(x + at)\n    if n > 1000:\n        v += tl.load(z + at)\n    tl.store(y + at, v)\n" \
            "def launch(x, n):\n    y = torch.empty_like(x)\n    add_kernel[(1,)](x, torch.empty(0, device=x.device), y, n, 16)\n    return y\n"
        launch = self.plan_of(source, {"x": "f32 16"}, {"y": "f32 16"}, n=16)["steps"][0]["launch"]
        self.assertEqual([one["at"] for one in launch["relocations"]], [0, 16])

    def test_questions_about_the_gpu_get_the_targets_answers(self):
        source = HEAD + """
def launch(x, n):
    one, other = torch.cuda.get_device_properties(x.device), triton.runtime.driver.active.utils.get_device_properties(0)
    assert (one.multi_processor_count, other["multiprocessor_count"]) == (132, 132)
    assert one.name == torch.cuda.get_device_name() == "NVIDIA H200" and torch.cuda.get_device_capability() == (9, 0)
    assert other["max_shared_mem"] == 232448 and triton.runtime.driver.active.get_current_target().arch == 90
    assert x.data_ptr() % 256 == 0 and x.is_cuda and x.device == torch.device("cuda:0") and torch.cuda.current_stream().cuda_stream == 0
    return torch.zeros_like(x)
"""
        self.plan_of(source, {"x": "f32 16"}, {"y": "f32 16"}, n=16)

    def test_every_task_has_its_shapes(self):
        said = headers(candidate("softmax"))
        self.assertEqual(len(request_for(candidate("softmax"))["shapes"]), 4, said)


if __name__ == "__main__":
    unittest.main()
