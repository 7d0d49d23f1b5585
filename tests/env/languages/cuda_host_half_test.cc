// Host halves that candidates share: with one or without, a candidate's plans or verdict are the same.

#include "base/process.h"
#include "env/languages/cuda_text.h"
#include "env/plan/planner.h"
#include "env/verdict/message.h"
#include "tests/env/cuda_boxes.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

Task host_half_task(const std::string& reference = "2 * x") {
  return parse_tasks("{name: t, language: cuda, reference: '" + reference +
                         "', inputs: {x: [n]}, outputs: {y: [n]}, check: [{n: 5}], timed: {n: 999}}",
                     "t")[0];
}

// `after` may use n, the launcher's.
std::string source_with(const std::string& body, const std::string& block = "256",
                        const std::string& before = "") {
  return before + "__global__ void work(const float* x, float* y, int n) {\n" + body +
         "\n}\nextern \"C\" void launch(const float* x, float* y, int n) { work<<<(n + 255) / 256, " + block +
         ">>>(x, y, n); }\n";
}

Planned plan(const std::string& source, const HostHalf& known = {}) {
  RecorderProcess recorder(
      {.program = TEMPER_BINARY_DIR "/temper-recorder", .memory_bytes = 512 << 20, .user = kCudaTestUser});
  const Task task = host_half_task();
  return plan_candidate(task, source, all_shapes(task), *cuda_toolchains(), cuda_test_quota(), kCudaTestUser,
                        {}, recorder, kPatience_ms, known);
}

std::string text_of(const Planned& planned) {
  if (planned.failure) return planned.failure->reason + ": " + planned.failure->detail;
  std::string text;
  for (const LaunchPlan& one : planned.plans) text += plan_text(one);
  return text;
}

constexpr const char* kDouble = "  int i = blockIdx.x * 256 + threadIdx.x;\n  if (i < n) y[i] = 2 * x[i];";

TEST(CudaHostHalf, KernelsThatDifferInTheirBodiesShareOne) {
  SKIP_WITHOUT_RECORDER();
  const Planned first = plan(source_with(kDouble));
  ASSERT_FALSE(first.failure) << text_of(first);
  EXPECT_TRUE(first.host == HostOrigin::kMade);
  ASSERT_FALSE(first.made.object.empty());
  for (const std::string body :
       {"  y[n] = 0;", "\n\n  extern __shared__ float s[]; s[n] = x[n]; y[n] = s[0];\n",
        "  static const int t[] = {1, 2}; struct A { int a; } a{t[n]}; auto f = [&] { return a.a; }; y[n] = "
        "f();",
        "#pragma unroll 4\n  for (int i = 0; i < n; ++i) y[i] = fmaxf(x[i], expf(x[i]));"}) {
    const Planned own = plan(source_with(body)), known = plan(source_with(body), first.made);
    EXPECT_TRUE(own.host == HostOrigin::kMade);
    EXPECT_TRUE(known.host == HostOrigin::kKnown) << body;
    EXPECT_TRUE(known.made.object.empty());
    EXPECT_EQ(text_of(known), text_of(own));
    EXPECT_TRUE(known.cubin == own.cubin);
    EXPECT_EQ(own.made.stubs, first.made.stubs);
    EXPECT_TRUE(own.made.object == first.made.object);
    EXPECT_TRUE(known.object == first.made.object);
  }
}

TEST(CudaHostHalf, IsReallyTheOneThatIsGiven) {
  SKIP_WITHOUT_RECORDER();
  const Planned other = plan(source_with(kDouble, "128"));  // a clash of digests, if there ever is one
  const Planned clash = plan(source_with(kDouble), other.made);
  ASSERT_TRUE(clash.host == HostOrigin::kKnown);
  EXPECT_EQ(text_of(clash), text_of(other));
  EXPECT_NE(text_of(clash), text_of(plan(source_with(kDouble))));
}

// Stubs come out of a compiler that a candidate may have broken: what was made with them is not for others.
TEST(CudaHostHalf, MadeWithOtherStubsItIsNotTaken) {
  SKIP_WITHOUT_RECORDER();
  const Planned honest = plan(source_with(kDouble));
  HostHalf poisoned = honest.made;
  poisoned.stubs += "static int poison = 1;\n";
  poisoned.object = "no object at all";
  const Planned after = plan(source_with(kDouble), poisoned);
  EXPECT_TRUE(after.host == HostOrigin::kMade);
  EXPECT_EQ(text_of(after), text_of(honest));
  EXPECT_TRUE(after.made.object == honest.made.object);
}

// What a candidate's device half leaves in its box is not there any more.
TEST(CudaHostHalf, IsMadeInABoxOfItsOwn) {
  SKIP_WITHOUT_NVCC();
  for (const char* left :
       {"candidate.ptx", "candidate.cubin", "candidate.cpp1.ii", "candidate.cudafe1.gpu"}) {
    const auto result = compile_cuda(fmt::format(
        "#ifndef __CUDA_ARCH__\nasm(\".incbin \\\"{}\\\"\");\n#endif\nextern \"C\" void launch() {{}}\n",
        left));
    EXPECT_EQ(result.reason, "compile_error") << left;
  }
}

TEST(CudaHostHalf, FailsInTheWordsOfTheFullText) {
  SKIP_WITHOUT_RECORDER();
  const Planned cpp_linkage = plan(
      "__global__ void work(float* y) {\n  y[0] = 1;\n}\nvoid launch(const float* x, float* y, int n) { "
      "work<<<1, 1>>>(y); }\n");
  ASSERT_TRUE(cpp_linkage.failure);
  EXPECT_EQ(cpp_linkage.failure->reason, "no_entry_point");
  EXPECT_TRUE(cpp_linkage.made.object.empty());
  const Planned host_only =
      plan(source_with(kDouble, "256", "#ifndef __NVVM__\n") + "#endif\nasm(\"nonsense\");\n");
  ASSERT_TRUE(host_only.failure);
  EXPECT_EQ(host_only.failure->reason, "compile_error");
  EXPECT_TRUE(host_only.made.object.empty());
}

// Macros may hide a brace; then it is the full text that is compiled, and nobody shares that.
TEST(CudaHostHalf, WhatIsEmptiedWronglyIsCompiledWhole) {
  SKIP_WITHOUT_RECORDER();
  const std::string source =
      "#define IF(condition) if (condition) {\n" +
      source_with("  int i = threadIdx.x;\n  IF(i < n) y[i] = 2 * x[i]; }\n  y[0] += 0;");
  ASSERT_NE(host_text(source), source);
  const Planned planned = plan(source);
  EXPECT_FALSE(planned.failure) << text_of(planned);
  EXPECT_TRUE(planned.host == HostOrigin::kMade);
  EXPECT_TRUE(planned.made.object.empty());
}

TEST(CudaHostHalf, StubsAreTheSameWhateverTheirLines) {
  const std::string plain = "#define b\nvoid f() { g(); }\n# pragma c\nint d;";
  EXPECT_EQ(plain_stubs("#define b\nvoid f()\n{ g(); }\n# pragma c\nint d;\n"), plain);
  EXPECT_EQ(plain_stubs("#define b\nvoid f()\n{ g();\n# 9 \"candidate.cu\"\n\n\n}\n# pragma c\n int d; \n"),
            plain);
  EXPECT_EQ(plain_stubs("f(void **__T7, __T3);\n{ g(__T7, __T3, my__T3, __T3x, __T, __T7); }\n"),
            "f(void **__T0, __T1); { g(__T0, __T1, my__T3, __T3x, __T, __T0); }");
  EXPECT_EQ(plain_stubs(""), "");
}

}  // namespace
}  // namespace temper::env
