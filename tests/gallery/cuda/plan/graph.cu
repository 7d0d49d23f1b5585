// task: copy
// expect: FAIL_PLAN graph
// message: launch calls cuda
__global__ void copy(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" void launch(const float* x, float* y, int n, int m) {
  static cudaGraphExec_t exec = nullptr;
  if (exec == nullptr) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed);
    copy<<<(n * m + 255) / 256, 256, 0, cudaStreamPerThread>>>(x, y, n * m);
    cudaStreamEndCapture(cudaStreamPerThread, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
  }
  cudaGraphLaunch(exec, 0);
}
