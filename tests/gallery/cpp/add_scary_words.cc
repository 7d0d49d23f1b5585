// task: add
// expect: PASS
// Control: cheat, fork, system("rm -rf /"), ptrace, stream, cache, exit(0), #include "/etc/passwd": only
// words.

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  const char* words = "cheat hack socket execve memo counter sleep";
  (void)words;
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
