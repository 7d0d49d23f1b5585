// task: copy
// expect: FAIL_COMPILE compile_
template <int N>
struct A {
  A<N + 1> a;
  A<N + 2> b;
  static constexpr int v = A<N + 1>::v + A<N + 2>::v;
};
int x = A<0>::v;
extern "C" void launch(const float* x, float* y, int n, int m) {}
