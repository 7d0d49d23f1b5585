// task: add
// expect: PASS
// Control: a table built when the object is loaded.

struct Table {
  float values[256];
  Table() {
    for (float& value : values) value = 0;
  }
};
static Table zeros;

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i] + zeros.values[i % 256];
}
