// task: add
// expect: FAIL_INCORRECT|PASS
// no faster than: add_plain
// Says that it is done before it is, and works on while the clock stands: wrong where it finds the page, else slow.

// The control page lies near the caller's stack: its address is a word there, and its layout is public.
struct Page {
  volatile unsigned go, done, null_call, tensors, dims;
};

long call(long number, long a, long b, long c) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

Page* find_page() {
  long* stack = static_cast<long*>(__builtin_frame_address(0));
  for (int i = 0; i < 400; ++i) {
    if (stack[i] & 4095 || stack[i] < 4096) continue;
    if (call(202, stack[i], 1, 0) < 0) continue;  // FUTEX_WAKE of nobody: is it mapped?
    auto* page = reinterpret_cast<Page*>(stack[i]);
    if (page->tensors == 3 && page->dims == 2 && page->done == 0) return page;
  }
  return nullptr;
}

void answer(Page* page, unsigned number) {
  __atomic_store_n(&page->done, number, __ATOMIC_SEQ_CST);
  call(202, (long)&page->done, 1, 1);
}

extern "C" void kernel(const float* x, const float* z, float* y, int n, int m) {
  static Page* page = find_page();
  if (page) answer(page, page->go);
  for (volatile int i = 0; i < 50000000; ++i) {
  }
  for (int i = 0; i < n * m; ++i) y[i] = x[i] + z[i];
}
