// Headers that are read once for all: what comes out is to the byte what it is without.

#include <filesystem>

#include "base/files.h"
#include "base/machine/scratch_folder.h"
#include "env/languages/cuda_text.h"
#include "tests/env/cuda_boxes.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInclude = "#include <cuda_bf16.h>\n";

std::string unit_of(const std::string& source, const std::string& lead = "") {
  return lead + kOwnText + source;
}

std::string double_it(const std::string& type, const std::string& before = "") {
  return before + "__global__ void work(const " + type + "* x, " + type +
         "* y) { y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }\nextern \"C\" void launch(const " +
         type + "* x, " + type + "* y) { work<<<1, 32>>>(x, y); }\n";
}

const fs::path& folder() {
  static const ScratchFolder folder("test");
  return folder.path();
}

CudaToolchains new_tools() {
  return CudaToolchains(kCuda.compiler_flags, kCuda.entry_point, "sm_90a", folder());
}

// Headers are read once for all tests: it takes seconds.
CudaToolchains& tools_that_read() {
  static CudaToolchains tools = [] {
    CudaToolchains reading = new_tools();
    for (const std::string lead : {"", kInclude, ""})
      EXPECT_EQ(&reading.of(unit_of("", lead)), &reading.plain());
    reading.headers().read(kCudaTestUser);
    return reading;
  }();
  return tools;
}

// Nothing may be compiled in the usual way unseen.
CudaToolchain strict(CudaToolchain tools) {
  for (CompileStep& step : tools.host.steps)
    if (step.edit) step.edit->needed = true;
  tools.plain_host.steps.clear();
  return tools;
}

CudaCompiled compiled(const CudaToolchain& tools, const std::string& unit) {
  return compile_cuda(tools, unit, {}, cuda_test_quota(), kCudaTestUser);
}

enum class Half : uint8_t { kWithHeaders, kMaybe };

void expect_same(const std::string& unit, Half host = Half::kWithHeaders) {
  CudaToolchains& tools = tools_that_read();
  ASSERT_NE(&tools.of(unit), &tools.plain());
  const CudaToolchain& asked = tools.of(unit);
  const CompileResult without = compiled(tools.plain(), unit).result;
  const CompileResult with = compiled(host == Half::kMaybe ? asked : strict(asked), unit).result;
  EXPECT_TRUE(without.ok) << without.diagnostics;
  EXPECT_TRUE(with.ok) << with.diagnostics;
  EXPECT_TRUE(with.cubin == without.cubin && with.ptx == without.ptx) << unit;
  EXPECT_TRUE(with.object == without.object) << unit;
  EXPECT_EQ(with.stubs, without.stubs);
}

TEST(CudaHeaders, MakeNoDifference) {
  SKIP_WITHOUT_NVCC();
  expect_same(unit_of(double_it("float")));
  expect_same(unit_of(double_it("__nv_bfloat16"), kInclude));
  expect_same(unit_of(double_it("__nv_bfloat16", kInclude)));
  expect_same(unit_of(double_it("float", "#include <cmath>\n#include <mma.h>\n")));
  // What it uses cudafe++ may write among the headers: then g++ reads all.
  expect_same(unit_of(double_it("float", "#include <cooperative_groups.h>\n")), Half::kMaybe);
}

TEST(CudaHeaders, ErrorsAreToldInTheSameWords) {
  SKIP_WITHOUT_NVCC();
  CudaToolchains& tools = tools_that_read();
  for (const std::string source :
       {"\n\n__global__ void work() { int x = y; }\n", "extern \"C\" void launch() { nothing(); }",
        "#error no\n", "#include <nothing.h>\n", "", "}"}) {
    const CompileResult without = compiled(tools.plain(), unit_of(source)).result;
    const CompileResult with = compiled(tools.of(unit_of(source)), unit_of(source)).result;
    EXPECT_FALSE(with.ok) << source;
    EXPECT_EQ(with.reason, without.reason);
    EXPECT_EQ(with.diagnostics, without.diagnostics);
  }
}

TEST(CudaHeaders, AreNotUsedWhereItCouldBeSeen) {
  SKIP_WITHOUT_NVCC();
  CudaToolchains& tools = tools_that_read();
  EXPECT_EQ(&tools.of(unit_of("int a = __COUNTER__;")), &tools.plain());
  EXPECT_EQ(&tools.of("int a;"), &tools.plain());
}

TEST(CudaHeaders, WhatOneHasReadIsThereForOthers) {
  SKIP_WITHOUT_NVCC();
  tools_that_read();
  CudaToolchains others = new_tools();
  const std::string unit = unit_of(double_it("float"));
  ASSERT_NE(&others.of(unit), &others.plain());
  EXPECT_TRUE(compiled(strict(others.of(unit)), unit).result.ok);
}

TEST(CudaHeaders, CandidatesCompileWhereTheyAreGone) {
  SKIP_WITHOUT_NVCC();
  const std::string unit = unit_of(double_it("float"));
  CudaToolchain tools = tools_that_read().of(unit);
  tools.host.folders.pop_back();
  const CompileResult with = compiled(tools, unit).result;
  EXPECT_TRUE(with.ok) << with.diagnostics;
  EXPECT_TRUE(with.object == compiled(tools_that_read().plain(), unit).result.object);
}

TEST(CudaHeaders, AreNotReadForTwo) {
  SKIP_WITHOUT_NVCC();
  ScratchFolder own("test");
  CudaToolchains tools(kCuda.compiler_flags, kCuda.entry_point, "sm_90a", own.path());
  for (int i = 0; i < 2; ++i) tools.of(unit_of(""));
  tools.headers().read(kCudaTestUser);
  EXPECT_EQ(&tools.of(unit_of("")), &tools.plain());
}

TEST(CudaHeaders, WhatFailsToReadThemIsNotTriedAgain) {
  SKIP_WITHOUT_NVCC();
  ScratchFolder own("test");
  std::vector<std::string> flags = kCuda.compiler_flags;
  flags.emplace_back("-include nothing.h");
  CudaToolchains tools(flags, kCuda.entry_point, "sm_90a", own.path());
  const std::string unit = unit_of(double_it("float"));
  for (int i = 0; i < 3; ++i) tools.of(unit);
  EXPECT_THROW(tools.headers().read(kCudaTestUser), WorldError);
  EXPECT_NO_THROW(tools.headers().read(kCudaTestUser));
  EXPECT_EQ(&tools.of(unit), &tools.plain());
}

}  // namespace
}  // namespace temper::env
