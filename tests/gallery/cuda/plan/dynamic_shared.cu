// task: copy
// expect: PLAN
// plan: kernel _Z4copyPKfPfi max_dynamic_shared 131072 carveout 100%
extern __shared__ float row[];
__global__ void copy(const float* x, float* y, int m) {
  for (int i = threadIdx.x; i < m; i += blockDim.x) row[i % 32768] = x[blockIdx.x * m + i];
  __syncthreads();
  for (int i = threadIdx.x; i < m; i += blockDim.x) y[blockIdx.x * m + i] = row[i % 32768];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  static bool once =
      cudaFuncSetAttribute(copy, cudaFuncAttributeMaxDynamicSharedMemorySize, 128 << 10) == cudaSuccess &&
      cudaFuncSetAttribute(copy, cudaFuncAttributePreferredSharedMemoryCarveout,
                           cudaSharedmemCarveoutMaxShared) == cudaSuccess;
  if (once) copy<<<n, 256, 128 << 10>>>(x, y, m);
}
