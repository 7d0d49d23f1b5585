#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "tests/env/boxes.h"

namespace temper::env {
namespace {

constexpr const char* kEmptyKernel = "\nextern \"C\" void kernel() {}\n";

TEST(CompileBox, CompilesASharedObject) {
  const auto result = compile_here(
      "#include <cmath>\n#include <vector>\n#include <iostream>\n"
      "extern \"C\" void kernel(const float* x, float* y, int n) {\n"
      "  static std::vector<float> kept; for (int i = 0; i < n; ++i) y[i] = std::exp(x[i]); }\n");
  EXPECT_TRUE(result.ok) << result.diagnostics;
  EXPECT_TRUE(
      result.object.starts_with("\x7f"
                                "ELF"));
}

TEST(CompileBox, TellsWhatIsWrong) {
  const auto result = compile_here("extern \"C\" void kernel(float* y) { y[0] = z; }");
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.reason, "compile_error");
  EXPECT_NE(result.diagnostics.find("candidate.cc:1:"), std::string::npos) << result.diagnostics;
}

TEST(CompileBox, WantsTheEntryPointOnce) {
  const Task task = parse_tasks(
      "{name: copy, reference: x + 0, inputs: {x: [n]}, outputs: {y: [n]}, "
      "check: [{n: 3}], timed: {n: 64}}",
      "copy.yaml")[0];
  const auto reason = [&](const std::string& source) {
    return compile(test_toolchain(), kCpp.translation_unit(task.parameters(), source), test_quota(),
                   kTestUser)
        .reason;
  };
  const std::string parameters = "(const float* x, float* y, int n) {}";
  EXPECT_EQ(reason("void kernel" + parameters), "");
  EXPECT_EQ(reason("extern \"C\" void kernle" + parameters), "no_entry_point");
  EXPECT_EQ(reason("namespace a { void kernel" + parameters + " }"), "no_entry_point");
  EXPECT_EQ(reason("void kernel" + parameters + " void kernel" + parameters), "compile_error");
  EXPECT_EQ(reason("void kernel" + parameters + " int j = kernle();"), "compile_error");
  EXPECT_EQ(reason("void kernel(const float* x, float* y) {}"), "compile_error");
  EXPECT_EQ(reason("void kernel(const float* x, double* y, int n) {}"), "compile_error");
  // The object defines what the runner calls, or the linker says so.
  EXPECT_EQ(compile(test_toolchain(), "extern \"C\" void kernel() {}", test_quota(), kTestUser).reason,
            "no_entry_point");
}

TEST(CompileBox, SeesNothingOfTheMachine) {
  for (const char* source : {"#include \"/etc/hostname\"", "#include \"/proc/self/environ\"",
                             "asm(\".incbin \\\"/etc/passwd\\\"\");", "#include \"" __FILE__ "\""}) {
    const auto result = compile_here(std::string(source) + kEmptyKernel);
    EXPECT_EQ(result.reason, "compile_error") << source;
    EXPECT_EQ(result.diagnostics.find("root:"), std::string::npos);
  }
  const auto probe = compile_here(
      "#if __has_include(\"/etc/passwd\") || __has_include(\"/proc/self/maps\")\n#error seen\n"
      "#endif" +
      std::string(kEmptyKernel));
  EXPECT_TRUE(probe.ok) << probe.diagnostics;
}

TEST(CompileBox, EndsBombsWithinItsQuota) {
  const CompileQuota quota{.wall = std::chrono::milliseconds(1500)};
  const char* const kBombs[] = {
      "template <int N> struct A { A<N + 1> a; A<N + 2> b; static constexpr int v = A<N + 1>::v + A<N + "
      "2>::v; };\n"
      "int x = A<0>::v;",
      "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n#define C(x) B(B(B(x)))\nconst char* s = "
      "C(\"boom\");",
      "#include __FILE__",
      "constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); } constexpr long v = f(90);",
      "char big[256 << 20] = {1};",
      "asm(\".rept 100000000\\n.quad 1\\n.endr\");",
  };
  for (const char* bomb : kBombs) {
    const double start = now_s();
    const auto result = compile_here(bomb + std::string(kEmptyKernel), quota);
    EXPECT_FALSE(result.ok) << bomb;
    EXPECT_TRUE(result.reason.starts_with("compile_")) << result.reason;
    EXPECT_LE(int64_t(result.diagnostics.size()), quota.diagnostic_bytes);
    EXPECT_LT(now_s() - start, kPatience_s) << bomb;
  }
}

TEST(CompileBox, SurvivesAnyBytes) {
  for (const std::string& source : {std::string(3, '\0'), std::string("\xff\xfe\x80"),
                                    std::string(1 << 20, 'a'), std::string(1 << 20, '('), std::string()})
    EXPECT_FALSE(compile_here(source).ok);
}

TEST(CompileBox, IgnoresFlagsInTheSource) {
  const auto result =
      compile_here("// g++: -include /etc/passwd\n#pragma GCC push_options\n" + std::string(kEmptyKernel));
  EXPECT_TRUE(result.ok) << result.diagnostics;
}

TEST(CompileBox, AToolThatCannotBeStartedIsNoFaultOfTheSource) {
  Toolchain tools = test_toolchain();
  tools.steps[0].program[0] = "/usr/bin/no_such_compiler";
  try {
    compile(tools, kEmptyKernel, {}, kTestUser);
    ADD_FAILURE() << "it compiles";
  } catch (const WorldError& e) {
    EXPECT_NE(std::string(e.what()).find("cannot start /usr/bin/no_such_compiler: No such file"),
              std::string::npos)
        << e.what();
  }
}

TEST(CompileBox, TheCreationMaskIsItsOwn) {
  const mode_t before = ::umask(0777);
  const auto result = compile_here(kEmptyKernel);
  const std::string ran = run_here(kEmptyKernel);
  ::umask(before);
  EXPECT_TRUE(result.ok) << result.reason << " " << result.diagnostics;
  EXPECT_EQ(ran, "");
}

TEST(Toolchain, SaysWhatToInstall) {
  ::setenv("CXX", "/nowhere/g++", 1);
  try {
    find_toolchain({}, "kernel");
    ADD_FAILURE() << "found a compiler";
  } catch (const std::exception& e) {
    EXPECT_NE(std::string(e.what()).find("apt-get install g++"), std::string::npos) << e.what();
  }
  ::unsetenv("CXX");
}

}  // namespace
}  // namespace temper::env
