// task: copy
// expect: FAIL_COMPILE compile_error
// message: without root:
asm(".incbin \"/etc/passwd\"");
extern "C" void launch(const float* x, float* y, int n, int m) {}
