// task: add
// expect: FAIL_COMPILE
// Template bomb.

template <int depth, int path>
struct Bomb {
  static constexpr int value = Bomb<depth - 1, 2 * path>::value + Bomb<depth - 1, 2 * path + 1>::value;
};
template <int path>
struct Bomb<0, path> {
  static constexpr int value = path;
};

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) { y[0] = Bomb<30, 0>::value; }
