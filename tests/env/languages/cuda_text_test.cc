#include "env/languages/cuda_text.h"

#include <gtest/gtest.h>

#include <vector>

namespace temper::env {
namespace {

constexpr const char* kLauncher = "extern \"C\" void launch(float* y, int n) { k<<<1, 32>>>(y, n); }\n";

// "@" stands for a body: what the source is with one, and what its host text is.
std::string with_body(std::string source, const std::string& body) {
  for (size_t at; (at = source.find('@')) != std::string::npos;) source.replace(at, 1, "{" + body + "}");
  return source;
}

TEST(HostText, BodiesOfKernelsAreEmptied) {
  const std::vector<std::string> kBodies{
      "",
      " y[0] = n; ",
      "\n  if (n > 0) {\n    y[0] = 1;\n  }\n",
      " const char* s = \"}\"; char c = '}', d = '\\'', e = '{'; ",
      " // }}}\n /* }}} { */ int a = 1'000'000, b = 0x1'F; float f = 1.5e-3f, g = .5e+1f, h = 0x1p-3; ",
      " auto s = R\"x(}}\" )y\" {{)x\"; auto t = u8R\"(})\"; auto u = L\"}\" \"\\\"}\"; ",
      "\n#pragma unroll\n  for (int i = 0; i < 4; ++i) {\n  #  pragma unroll 4 // }\n  for (;;) {} }\n",
      "\n#pragma nounroll\n  for (;;) {}\n",
      " auto s = R\"x(\" }}} \")x\", t = u8R\"(\" }}} \")\"; ",
      " asm volatile(\"{ .reg .pred p; }\" :: \"r\"(n)); ",
      " extern __shared__ float s[]; struct Pair { int a; }; auto f = [&](int i) { return s[i]; }; f(3); ",
      " y[n] = \u00e9t\u00e9 ? a % b : a < b; ",
      "\r\n  y[0] = 1;\r\n",
  };
  const std::vector<std::string> kDefinitions{
      "__global__ void k(float* y, int n) @",
      "__global__ void k(float* y, int n)\n// the body\n@\n",
      "static __global__ void k(float* y, int n) @",
      "extern \"C\" __global__ void k(float* __restrict__ y, int n) @",
      "template <int N, class T = void> __global__ void __launch_bounds__(N, 2) k(T* y, int n) @",
      "__global__ void __launch_bounds__((32 > 16) ? 32 : 64) __cluster_dims__(2, 1, 1) k(float* y, int n) @",
      "__global__ __launch_bounds__(256) void k(float* y, int n) @",
      "__global__ void k(float* y, int n) __launch_bounds__(256) @",
      "__global__ __attribute__((noinline)) void k(float* y, int n) @",
      "template <> __global__ void k<3, int>(float* y, int n) @",
      "__global__ void ns::k(float (&y)[3], int n = int{3}) @",
      "namespace { __global__ void a() @ }\nnamespace b { __global__ void k(int (*f)(int, int)) @ }\n",
      "__global__ void k(float*, int);\n__global__ void k(float* y, int n) @",
      "#define N 3 /* } \n { */\n__global__ void k(float* y, int n) @",
      "#if 1\n__global__ void k(float* y, int n) @\n#else\n__global__ void k(int* y, int n) @\n#endif\n",
      "#define ADD(a, b) \\\n  { a + b; \\\n\n__global__ void k(float* y, int n) @",
      "const char* s = \"__global__ void a() { x; }\"; // __global__ void b() { x; }\n__global__ void k() @",
      "#define MAKE(name) __global__ void name() { x; }\n__global__ void k(float* y, int n) @",
  };
  for (const auto& definition : kDefinitions)
    for (const auto& body : kBodies) {
      const std::string source = with_body(definition, body) + kLauncher;
      EXPECT_EQ(host_text(source), with_body(definition, "") + kLauncher) << source;
    }
}

TEST(HostText, EverythingElseStays) {
  for (const std::string source : {
           "__device__ float f(float x) { return x; }\n__host__ __device__ void g() { f(1); }\n",
           "__global__ void k(float* y);\n",
           "extern \"C\" void launch(float* y, int n) { cudaMemset(y, 0, n); }\n",
           "struct A { void f() { x; } };\n",
           "__global__ auto k(float* y) { x; }\n",  // no void
           "__global__ void k(float* y) try { x; } catch (...) {}\n",
           "__global__ void k(float* y) BEGIN x; }\n",  // no brace
           "__global__ void (*pointer)(float*) = nullptr; void f() { x; }\n",
           "MAKE(__global__ void k() { x; })\n",  // a macro may do anything with it
           "#define KERNEL __global__ void k() { x; }\nKERNEL\n",
           "KERNEL k(float* y) { x; }\n",
           "#include <a/*b>\n/**/ __global__ void k() { x; }\n",  // taken for a comment
           "auto s = \"__global__ void k() { x; }\";\n",
           "auto s = R\"(__global__ void k() { x; })\";\n",
           "// __global__ void k() { x; }\n/* __global__ void k() { x; } */\n",
           "",
           "\n",
       })
    EXPECT_EQ(host_text(source), source);
}

TEST(HostText, BodiesThatSayMoreThanTheirCodeStay) {
  for (const std::string body : {"\n#define A 3\n", "\n#include \"x\"\n", "\n#if 0\n#endif\n", "\n#line 3\n",
                                 "\n#pragma push_macro(\"A\")\n", "\n#pragma unroll_it\n", "\n#\n",
                                 "\n#/* pragma unroll */define A\n", " _Pragma(\"pop_macro(\\\"A\\\")\") "}) {
    const std::string odd = "__global__ void k() {" + body + "}\n";
    EXPECT_EQ(host_text(odd + "__global__ void l() { x; }\n"), odd + "__global__ void l() {}\n");
  }
}

TEST(HostText, WhereBodiesMayMatterOrNothingIsCertainAllStays) {
  const std::string kernel = "__global__ void k(float* y, int n) { y[0] = n; }\n";
  ASSERT_NE(host_text(kernel), kernel);
  for (const std::string odd : {
           "int a = __COUNTER__;",
           "#if __CUDA_ARCH__ >= 900\nint a;\n#endif",
           "auto f = [=] __device__ (float x) { return x; };",
           "auto f = [] __host__ __device__ (float x) { return x; };",
           "int a\\\n= 3;",
           "// goes on \\\nint a;",
           "// goes on \\ \t\nint a;",
           "const char* s = \"open\n;",
           "const char* s = \"op\\\nen\";",
           "char c = 'op\n;",
           "#error it's",
           "#define A R\"(\n)\"",
           "#define A u8R\"x(a)x\"",
           "int a <% 3 %>;",
           "%:define A",
           "/* open",
           "auto s = R\"(open)x\";",
           "auto s = R\"x(open)\";",
           "auto s = R\"a delimiter that is too long(x)a delimiter that is too long\";",
           "int a = 3;\\",
           "#include <a_\"b>",
       }) {
    EXPECT_EQ(host_text(kernel + odd), kernel + odd);
    EXPECT_EQ(host_text(odd + "\n" + kernel), odd + "\n" + kernel);
  }
  EXPECT_EQ(host_text("void f() { (((\n" + kernel), "void f() { (((\n" + kernel);
  for (const std::string& nul : {std::string("\0", 1), std::string("\1", 1)})
    EXPECT_EQ(host_text(nul + kernel), nul + kernel);
  for (const std::string open : {"__global__ void k() {", "__global__ void k() { { }\nvoid launch() { }",
                                 "__global__ void k(", "__global__", "__global__ void", "((", "'", "\"", "#",
                                 "# \\", "/", "//", "/*", "R\"", "R\"(", "1e", ".", "\\"})
    EXPECT_EQ(host_text(open), open);
}

TEST(HostText, LinesKeepTheirNumbersWhereTheyAreAskedFor) {
  const std::string kernel = "__global__ void k() {\n  x;\n}\n";
  EXPECT_EQ(host_text(kernel + "int a;\n"), "__global__ void k() {}\nint a;\n");
  EXPECT_EQ(host_text(kernel + "int a = __LINE__;\n"), "__global__ void k() {\n\n}\nint a = __LINE__;\n");
}

// No byte sequence takes it out of its text: every prefix and every byte gone of a source that has it all.
TEST(HostText, AnyBytesWillDo) {
  const std::string source =
      "#define A \"x\" \\\n 'y' // z\n#pragma once\n__global__ void k(float* y) { R\"x(})x\"; 1'0e+3; "
      "'\\''; /* */ \"\\\"\"; }\nvoid launch() { k<<<1, 2>>>(0); }\n";
  for (size_t at = 0; at < source.size(); ++at) {
    host_text(source.substr(0, at));
    host_text(source.substr(at));
    host_text(std::string(source).erase(at, 1));
    for (const char c : {'"', '\'', '\\', '{', '}', '(', '\n', '#', '\0', '\xff'})
      host_text(std::string(source).insert(at, 1, c));
  }
}

}  // namespace
}  // namespace temper::env
