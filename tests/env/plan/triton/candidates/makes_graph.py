# expected: FAIL_PLAN graph
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import torch
import triton
import triton.language as tl


def launch(x, n):
    graph = torch.cuda.CUDAGraph()
    return graph.replay()
