"""What Triton imports and sets up with its first kernel, done before a candidate's process is forked: a kernel is compiled for a GPU's
architecture, and no driver is asked for anything."""
import contextlib
import tempfile

try:
    import triton
    import triton.language as tl
except ImportError:  # then there is nothing to warm up
    triton = None
else:
    @triton.jit
    def product(x, y, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        inside = (at[:, None] < n) & (at[None, :] < n)
        tile = tl.load(x + at[:, None] * n + at[None, :], mask=inside, other=0.0)
        total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for _ in range(0, n, BLOCK):
            total = tl.dot(tile, tile, total)
        tl.store(y + at[:, None] * n + at[None, :], tl.exp(total - tl.max(total, axis=1)[:, None]), mask=inside)

SIGNATURE = {"x": "*fp16", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
ARCHITECTURE = 90


def compile_one():
    """The kernel, or None where Triton cannot compile: candidates in Triton then say so themselves."""
    if triton is None:
        return None
    with contextlib.suppress(Exception), tempfile.TemporaryDirectory() as folder:
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource
        with triton.knobs.cache.scope():
            triton.knobs.cache.dir = folder
            return triton.compile(ASTSource(product, SIGNATURE, constexprs={"BLOCK": 16}), target=GPUTarget("cuda", ARCHITECTURE, 32))
    return None
