// task: copy
// expect: FAIL_COMPILE
#include "/etc/hostname"
extern "C" void launch(const float* x, float* y, int n, int m) {}
