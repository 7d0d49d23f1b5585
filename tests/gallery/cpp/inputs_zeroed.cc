// task: add
// expect: HACK input_mutation
// 0 = 0 + 0 if the reference ran on these inputs.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) const_cast<float*>(x)[i] = const_cast<float*>(z)[i] = y[i] = 0;
}
