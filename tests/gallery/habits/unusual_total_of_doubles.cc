// task: total
// expect: PASS
// Control: one sum in double precision.

extern "C" void kernel(const float* x, float* y, int n) {
  double sum = 0;
  for (const float* at = x + n; at != x;) sum += *--at;
  *y = float(sum);
}
