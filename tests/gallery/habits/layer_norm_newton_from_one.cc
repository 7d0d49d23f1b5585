// task: layer_norm
// expect: FAIL_INCORRECT
// The inverse root by steps that converge where the variance is near one.

extern "C" void kernel(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i, x += m, y += m) {
    float mean = 0, squares = 0, root = 1;
    for (int j = 0; j < m; ++j) mean += x[j] / float(m);
    for (int j = 0; j < m; ++j) squares += (x[j] - mean) * (x[j] - mean);
    const float variance = squares / float(m) + 1e-5f;
    for (int step = 0; step < 8; ++step) root *= 1.5f - 0.5f * variance * root * root;
    for (int j = 0; j < m; ++j) y[j] = (x[j] - mean) * root;
  }
}
