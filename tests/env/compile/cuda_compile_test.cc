#include "base/process.h"
#include "env/languages/cuda_text.h"
#include "env/plan/gate.h"
#include "env/plan/launch_rules.h"
#include "env/verdict/message.h"
#include "tests/env/cuda_boxes.h"
#include "tests/patience.h"

#include <random>

namespace temper::env {
namespace {

constexpr const char* kEmptyLauncher = "\nextern \"C\" void launch() {}\n";

std::string cuda_kernel(const std::string& body, const std::string& before = "") {
  return before + "\n__global__ void k(float* y, int n) {\n" + body +
         "\n}\nextern \"C\" void launch(float* y, int n) { k<<<1, 32>>>(y, n); }\n";
}

struct Gated {
  CompileResult compiled;
  Cubin cubin;
  std::string reason, detail;  // of the gate
};

Gated gated(const std::string& source) {
  Gated result{compile_cuda(source), {}, "", ""};
  if (!result.compiled.ok) {
    result.reason = result.compiled.reason + " " + result.compiled.diagnostics;
    return result;
  }
  const std::string unreadable = read_cubin(result.compiled.cubin, result.cubin);
  EXPECT_EQ(unreadable, "");
  if (const auto found = gate_cubin(result.cubin, result.compiled.ptx)) {
    EXPECT_EQ(found->kind, VerdictKind::kRejectPolicy);
    result.reason = found->reason;
    result.detail = found->detail;
  }
  return result;
}

TEST(CudaCompile, KernelsMayCallLambdas) {
  SKIP_WITHOUT_NVCC();
  for (const char* how : {"[=] __device__", "[ ] __host__ __device__"}) {
    const Gated result =
        gated(fmt::format("template <class F> __global__ void each(float* y, int n, F f) {{ if (threadIdx.x "
                          "< n) y[threadIdx.x] = f(2); }}\n"
                          "extern \"C\" void launch(float* y, int n) {{ each<<<1, 32>>>(y, n, {} (float x) "
                          "{{ return x * x; }}); }}\n",
                          how));
    EXPECT_EQ(result.reason, "") << result.detail;
    EXPECT_EQ(result.cubin.kernels.size(), 1u);
  }
  // What has none is not compiled so.
  EXPECT_NE(&cuda_toolchains()->of("[=] __device__"), &cuda_toolchains()->plain());
  EXPECT_EQ(&cuda_toolchains()->of("__device__ int a[3]; __host__ int b;"), &cuda_toolchains()->plain());
}

TEST(CudaCompile, MakesAnObjectAndACubin) {
  SKIP_WITHOUT_NVCC();
  const Gated result = gated(
      "#include <cuda_bf16.h>\n#include <cooperative_groups.h>\n#include <mma.h>\n#include <vector>\n"
      "struct Pair { int a; double b; char c[100]; };\n"
      "__constant__ float table[3] = {1, 2, 3};\n"
      "template <int N> __global__ void __launch_bounds__(N, 2) add(const float* x, Pair p, char c, short h, "
      "float* y) {\n"
      "  __shared__ float s[N]; s[threadIdx.x] = x[0] + c; __syncthreads();\n"
      "  y[threadIdx.x] = s[N - 1 - threadIdx.x] + p.b + h + table[threadIdx.x % 3]; }\n"
      "static __global__ void __cluster_dims__(2, 1, 1) pair() {}\n"
      "extern \"C\" void launch(const float* x, float* y, int n, int m) {\n"
      "  std::vector<int> sizes(3, n); add<128><<<sizes[0], 128>>>(x, {1, 2.0, \"\"}, 3, 4, y); pair<<<2, "
      "1>>>(); }\n");
  ASSERT_EQ(result.reason, "") << result.detail;
  EXPECT_EQ(result.cubin.architecture, 90);
  ASSERT_EQ(result.cubin.kernels.size(), 2u);
  const CubinKernel* add = result.cubin.find("_Z3addILi128EEvPKf4PaircsPf");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->static_shared, 512u);
  EXPECT_EQ(add->max_threads, 128u);
  EXPECT_GT(add->registers, 0u);
  ASSERT_EQ(add->parameters.size(), 5u);
  const uint32_t kPlaces[][2] = {{0, 8}, {8, 120}, {128, 1}, {130, 2}, {136, 8}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(add->parameters[i].offset, kPlaces[i][0]);
    EXPECT_EQ(add->parameters[i].bytes, kPlaces[i][1]);
  }
  EXPECT_EQ(add->parameter_bytes(), 144u);
  const CubinKernel* pair = result.cubin.find("_Z4pairv");
  ASSERT_NE(pair, nullptr);
  EXPECT_TRUE(pair->fixed_cluster);
  EXPECT_EQ(pair->cluster, (Extent{2, 1, 1}));
  EXPECT_EQ(pair->parameter_bytes(), 0u);
}

TEST(CudaCompile, ReadsLargeParameters) {
  SKIP_WITHOUT_NVCC();
  const Gated result = gated(
      "struct Large { char c[20000]; };\n__global__ void k(Large a, float* y) { *y = a.c[threadIdx.x]; }\n"
      "extern \"C\" void launch(float* y) { k<<<1, 1>>>(Large(), y); }");
  ASSERT_EQ(result.reason, "");
  EXPECT_EQ(result.cubin.kernels.at(0).parameter_bytes(), 20008u);
}

TEST(CudaCompile, TheToolkitsLibrariesLeaveNoTrace) {
  SKIP_WITHOUT_NVCC();
  const Gated result =
      gated(cuda_kernel("using R = cub::BlockReduce<float, 32>; __shared__ typename R::TempStorage t;\n"
                        "float s = R(t).Sum(y[threadIdx.x]); if (threadIdx.x == 0) y[0] = s;",
                        "#include <cub/block/block_reduce.cuh>"));
  EXPECT_EQ(result.reason, "") << result.detail;
  EXPECT_GT(result.cubin.globals.size(), 5u);  // which nobody uses
}

TEST(CudaCompile, TellsWhatIsWrong) {
  SKIP_WITHOUT_NVCC();
  const std::pair<std::string, const char*> kMistakes[] = {
      {cuda_kernel("y[0] = z;"), "line 3: identifier \"z\" is undefined"},
      {"extern \"C\" void launch(float* y) {\n  y.clear(); }", "line 2: expression must have class type"},
      {cuda_kernel("asm(\"nonsense %0;\" :: \"f\"(y[0]));"),
       "Not a name of any known instruction: 'nonsense'"},
      {cuda_kernel("k<<<1, 1>>>(y, n);"),
       "line 3: kernel launch from __device__ or __global__ functions requires"},
      {cuda_kernel("cudaMalloc((void**)&y, n);", ""), ""},
      {"#error \"no\"\n" + cuda_kernel(""), "line 1: #error"},
  };
  for (const auto& [source, words] : kMistakes) {
    const auto result = compile_cuda(kOwnText + source);
    if (*words == '\0') continue;
    EXPECT_EQ(result.reason, "compile_error") << source;
    EXPECT_TRUE(first_compiler_error(result.diagnostics).starts_with(words))
        << first_compiler_error(result.diagnostics) << "\n"
        << result.diagnostics;
  }
}

TEST(CudaCompile, GateRefusesWhatOutlivesACall) {
  SKIP_WITHOUT_NVCC();
  const std::pair<std::string, const char*> kRefused[] = {
      {cuda_kernel("y[n] = atomicAdd(&calls, 1);", "__device__ int calls;"), "mutable_global"},
      {cuda_kernel("static int calls; y[n] = ++calls;"), "mutable_global"},
      {cuda_kernel("y[n] = table[n];", "__device__ float table[3] = {0, 0, 0};"), "mutable_global"},
      {cuda_kernel("y[n] = ++cuda::std::calls;",
                   "namespace cuda { namespace std { __device__ char calls; } }"),
       "mutable_global"},
      {cuda_kernel("y[n] = ++large[n];", "__device__ float large[1 << 20];"), "global_quota"},
      {cuda_kernel("printf(\"%f\", y[n]);", "#include <cstdio>"), "device_printf"},
      {cuda_kernel("float* p = (float*)malloc(4 * n); y[n] = *p;"), "device_malloc"},
      {cuda_kernel("float deep[20000]; for (int i = 0; i < n; ++i) deep[(7 * i) % 20000] = y[i];\n"
                   "for (int i = 0; i < n; ++i) y[i] = deep[(13 * i) % 20000];"),
       "stack_quota"},
  };
  for (const auto& [source, reason] : kRefused) {
    const Gated result = gated(source);
    EXPECT_EQ(result.reason, reason) << source << result.detail;
  }
}

// What kernels refer to and the cubin initialises, and no more than that.
TEST(CudaCompile, TablesAreMadeVisible) {
  SKIP_WITHOUT_NVCC();
  const auto compiled = compile_cuda(cuda_kernel("y[n] = table[n];",
                                                 "__device__ int unused[2] = {1, 2};\n"
                                                 "static __device__ const float table[3] = {1, 2, 3};"));
  Cubin cubin;
  ASSERT_EQ(read_cubin(compiled.cubin, cubin), "");
  const auto tables = tables_of(cubin, compiled.ptx);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].bytes, 12u);
  std::string bytes = compiled.cubin;
  make_visible(bytes, tables[0]);
  Cubin after;
  ASSERT_EQ(read_cubin(bytes, after), "");
  ASSERT_EQ(after.globals.size(), cubin.globals.size());
  for (const CubinGlobal& global : after.globals) EXPECT_EQ(global.visible, global.name == tables[0].name);
}

TEST(CudaCompile, GateLetsHonestDataThrough) {
  SKIP_WITHOUT_NVCC();
  for (const std::string& source :
       {cuda_kernel("y[n] = table[n];", "__constant__ float table[3] = {1, 2, 3};"),
        cuda_kernel("constexpr float table[3] = {1, 2, 3}; y[n] = table[n];"),
        cuda_kernel("const float table[] = {1, 2, 3, 4, 5, 6}; y[n] = table[n];"),
        cuda_kernel("y[n] = table[n];", "__device__ float table[3] = {1, 2, 3};"),
        cuda_kernel("y[n] = table[n];", "static __device__ const double table[3] = {1, 2, 3};"),
        cuda_kernel("static int calls = 5; y[n] = ++calls;"),  // the runner looks at it after each call
        cuda_kernel("y[n] = 1;", "__device__ int unused;"),
        cuda_kernel("assert(n > 0); y[n] = 1;", "#include <cassert>")}) {
    const Gated result = gated(source);
    EXPECT_EQ(result.reason, "") << source << result.detail;
  }
}

TEST(CudaCompile, SeesNothingOfTheMachine) {
  SKIP_WITHOUT_NVCC();
  for (const char* source : {"#include \"/etc/hostname\"", "#include \"/proc/self/environ\"",
                             "asm(\".incbin \\\"/etc/passwd\\\"\");", "#include \"" __FILE__ "\""}) {
    const auto result = compile_cuda(source + std::string(kEmptyLauncher));
    EXPECT_EQ(result.reason, "compile_error") << source;
    EXPECT_EQ(result.diagnostics.find("root:"), std::string::npos);
  }
}

TEST(CudaCompile, EndsBombsWithinItsQuota) {
  SKIP_WITHOUT_NVCC();
  CompileQuota quota = cuda_compile_quota();
  quota.wall = std::chrono::milliseconds(3000);
  const char* const kBombs[] = {
      "template <int N> struct A { A<N + 1> a; A<N + 2> b; static constexpr int v = A<N + 1>::v + A<N + "
      "2>::v; };\n"
      "int x = A<0>::v;",
      "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n#define C(x) B(B(B(x)))\nconst char* s = "
      "C(\"boom\");",
      "#include __FILE__",
      "__device__ char big[256 << 20] = {1};",
      "__device__ char huge[8ll << 30];",
      "asm(\".rept 100000000\\n.quad 1\\n.endr\");",
  };
  for (const char* bomb : kBombs) {
    const double start = now_s();
    const auto result = compile_cuda(bomb + std::string(kEmptyLauncher), quota);
    EXPECT_TRUE(result.reason.starts_with("compile_")) << bomb << result.reason;
    EXPECT_LE(int64_t(result.diagnostics.size()), quota.diagnostic_bytes);
    EXPECT_LT(now_s() - start, kPatience_s) << bomb;
  }
}

TEST(CudaCompile, SurvivesAnyBytes) {
  SKIP_WITHOUT_NVCC();
  for (const std::string& source :
       {std::string(3, '\0'), std::string("\xff\xfe\x80"), std::string(1 << 20, '('), std::string()})
    EXPECT_FALSE(compile_cuda(source).ok);
}

TEST(CudaCompile, IgnoresFlagsInTheSource) {
  SKIP_WITHOUT_NVCC();
  const auto result =
      compile_cuda("// nvcc: --use_fast_math -include /etc/passwd\n" + cuda_kernel("y[n] = y[0] / y[n];"));
  ASSERT_TRUE(result.ok) << result.diagnostics;
  EXPECT_NE(result.ptx.find("div.rn.f32"), std::string::npos);
  EXPECT_EQ(result.ptx.find("div.approx"), std::string::npos);
}

TEST(CudaToolchain, NamesWhatIsMissing) {
  SKIP_WITHOUT_NVCC();
  const auto error = [](const char* architecture) -> std::string {
    try {
      find_cuda_toolchain({}, "launch", architecture);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(error("sm_99").find("nsupported gpu architecture"), std::string::npos) << error("sm_99");
  ::setenv("CUDACXX", "/bin/false", 1);
  EXPECT_NE(error("sm_90a").find("/bin/false does not run"), std::string::npos) << error("sm_90a");
  ::unsetenv("CUDACXX");
}

TEST(CudaToolchain, TheHostCompilerMayBeNamedByItsPath) {
  SKIP_WITHOUT_NVCC();
  ::setenv("CXX", "/usr/bin/g++", 1);
  EXPECT_NO_THROW(find_cuda_toolchain({}, "launch", "sm_90a"));
  ::unsetenv("CXX");
}

}  // namespace
}  // namespace temper::env
