// task: gpu_swiglu_bf16
// expect: PASS
// One pass in f32.

__global__ void work(const __nv_bfloat16* x, const __nv_bfloat16* z, __nv_bfloat16* y, long long count) {
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
    const float v = float(x[i]);
    y[i] = __nv_bfloat16(v / (1 + expf(-v)) * float(z[i]));
  }
}

extern "C" void launch(const __nv_bfloat16* x, const __nv_bfloat16* z, __nv_bfloat16* y, int n, int m) {
  const long long count = 1ll * n * m;
  work<<<int((count + 255) / 256), 256>>>(x, z, y, count);
}
