# expected: FAIL_COMPILE compiler
# says: NameError('values is not defined') (line 8: at = tl.arange(0, 16); tl.store(y + at, values))
# shapes: [({"x": "f32 16"}, {"y": "f32 16"}, {"n": 16})]
import triton
import triton.language as tl
@triton.jit
def bad_kernel(x, y):
    at = tl.arange(0, 16); tl.store(y + at, values)
def launch(x, n):
    return bad_kernel[(1,)](x, x)
