#include "env/kernelbench/extensions/extension_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/machine/scratch_folder.h"
#include "env/kernelbench/module_build.h"
#include "tests/env/module_boxes.h"
#include "tests/patience.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Without torch's headers, which take most of a minute where they are read whole.
const char* const kSource =
    "from torch.utils.cpp_extension import load_inline\n"
    "load_inline(name='NAME', cpp_sources=\"\"\"CODE\"\"\", extra_cflags=['FLAG'], "
    "no_implicit_headers=True)\n";
const char* const kCode = "int one() { return 1; }";

std::string source(const std::string& code = kCode, const std::string& flag = "-O1",
                   const std::string& name = "one") {
  std::string text = kSource;
  for (const auto& [what, with] : {std::pair{"NAME", name}, {"CODE", code}, {"FLAG", flag}})
    text.replace(text.find(what), 4, with);
  return text;
}

json unit(const std::string& text, const std::vector<std::string>& flags,
          const std::string& file = "main.cpp") {
  return {{"file", file}, {"text", text}, {"name", "one"}, {"flags", flags}, {"cuda", false}};
}

struct Counts {
  int64_t made, found;
  bool operator==(const Counts&) const = default;
};

class ExtensionCompiling : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_MODULES();
    builder_.emplace(*module_options(), 20 * kPatience_ms, scratch_.path());
  }
  ModuleBuilt build(const std::string& text) { return builder_->build(task_, text, "90a"); }
  Counts counts() const { return {builder_->compiler().made(), builder_->compiler().found()}; }

  const ScratchFolder scratch_{"compiling"};
  const Task task_ = module_task("linear_relu", kModuleProblem);
  std::optional<ModuleBuilder> builder_;
};

TEST_F(ExtensionCompiling, CompilesTheSameOnce) {
  const ModuleBuilt first = build(source());
  ASSERT_FALSE(first.failure) << first.failure->detail;
  ASSERT_EQ(first.extensions.size(), 1U);
  EXPECT_EQ(counts(), (Counts{2, 0}));  // an object and a library
  const ModuleBuilt again = build("x = 2\n" + source());
  ASSERT_EQ(again.extensions.size(), 1U);
  EXPECT_EQ(counts(), (Counts{2, 1}));
  EXPECT_EQ(again.extensions[0].key, first.extensions[0].key);
  EXPECT_EQ(again.extensions[0].bytes, first.extensions[0].bytes);

  // Other processes find it, too, and one that keeps nothing makes the same.
  ModuleBuilder other(*module_options(), 20 * kPatience_ms, scratch_.path());
  EXPECT_EQ(other.build(task_, source(), "90a").extensions.at(0).bytes, first.extensions[0].bytes);
  EXPECT_EQ(other.compiler().made(), 0);
  ModuleBuilder without(*module_options(), 20 * kPatience_ms);
  EXPECT_EQ(without.build(task_, source(), "90a").extensions.at(0).bytes, first.extensions[0].bytes);
  EXPECT_EQ(without.compiler().found(), 0);
}

TEST_F(ExtensionCompiling, WhatDiffersIsCompiledAnew) {
  build(source());
  build(source(kCode, "-O2"));
  EXPECT_EQ(counts(), (Counts{4, 0}));
  build(source(kCode, "-DN=1"));
  EXPECT_EQ(counts(), (Counts{6, 0}));
  build(source(kCode, "-O1", "other"));
  EXPECT_EQ(counts(), (Counts{8, 0}));
  build(source("int one() { return 2; }"));
  EXPECT_EQ(counts(), (Counts{10, 0}));
}

// Only the half that differs is compiled again.
TEST_F(ExtensionCompiling, SourcesInCuda) {
  if (!fs::exists("/usr/local/cuda/bin/nvcc")) GTEST_SKIP() << "no nvcc";
  const auto in_cuda = [](const std::string& kernel) {
    return "from torch.utils.cpp_extension import load_inline\n"
           "load_inline(name='one', cpp_sources='void work();', no_implicit_headers=True, "
           "cuda_sources=\"\"\"" +
           kernel + "\nvoid work() { kernel<<<1, 32>>>(); }\"\"\")\n";
  };
  const ModuleBuilt first = build(in_cuda("__global__ void kernel() {}"));
  ASSERT_FALSE(first.failure) << first.failure->detail << first.failure->details;
  EXPECT_THAT(first.extensions.at(0).bytes, HasSubstr(".nv_fatbin"));
  EXPECT_EQ(counts(), (Counts{3, 0}));
  ASSERT_FALSE(build(in_cuda("__global__ void kernel() { __syncthreads(); }")).failure);
  EXPECT_EQ(counts(), (Counts{5, 1}));
  const ModuleBuilt wrong = build(in_cuda("__global__ void kernel() { nothing; }"));
  ASSERT_TRUE(wrong.failure);
  EXPECT_THAT(wrong.failure->detail, HasSubstr("cuda_sources(1)"));
}

TEST_F(ExtensionCompiling, AFailureIsSaidEachTime) {
  for (int i = 0; i < 2; ++i) {
    const ModuleBuilt built = build(source("int one() { return nothing; }"));
    ASSERT_TRUE(built.failure);
    EXPECT_EQ(built.failure->kind, VerdictKind::kFailCompile);
    EXPECT_THAT(built.failure->detail, HasSubstr("nothing"));
    EXPECT_EQ(counts(), (Counts{0, 0}));
  }
}

// What a candidate writes into its own folder, or says of another's, is nothing that others get.
TEST_F(ExtensionCompiling, ACandidateHasNoSayInWhatOthersGet) {
  const ModuleBuilt honest = build(source());
  const std::string forged =
      "import json, os\nfrom torch.utils import cpp_extension\n"
      "open('/tmp/evil.h', 'w').write('int one() { return 666; }')\n"
      "words = json.dumps({'status': 'ok', 'extensions': [{'key': '" +
      honest.extensions.at(0).key +
      "', 'units': [{'file': 'main.cpp', 'text': '#include \"/tmp/evil.h\"', 'name': 'one', 'flags': [], "
      "'cuda': False}], "
      "'libraries': [], 'refused': ''}]}).encode()\n"
      "os.write(3, len(words).to_bytes(4, 'little') + words)\nos._exit(0)\n";
  const ModuleBuilt built = build(forged);
  ASSERT_TRUE(built.failure);
  EXPECT_THAT(built.failure->detail, HasSubstr("evil.h"));
  EXPECT_EQ(build(source()).extensions.at(0).bytes, honest.extensions[0].bytes);
}

TEST_F(ExtensionCompiling, WordsOfAnotherFormAreTheCandidates) {
  for (const char* words :
       {"'extensions': [{'key': 'ab'}]", "'extensions': [{'key': 'ab', 'units': [], 'libraries': []}]",
        "'extensions': [{'key': 'ab', 'units': [{'file': 'main.cpp', 'text': 1, 'name': 'a', 'flags': [], "
        "'cuda': False}], "
        "'libraries': []}]",
        "'extensions': [{'key': 'ab', 'units': [{'file': 'main.cpp', 'text': '', 'name': 'a', 'flags': [1], "
        "'cuda': False}], "
        "'libraries': []}]"}) {
    const ModuleBuilt built = build(
        std::string(
            "import json, os\nfrom torch.utils import cpp_extension\nwords = json.dumps({'status': 'ok', ") +
        words + "}).encode()\nos.write(3, len(words).to_bytes(4, 'little') + words)\nos._exit(0)\n");
    ASSERT_TRUE(built.failure) << words;
    EXPECT_EQ(built.failure->kind, VerdictKind::kFailCompile) << words;
  }
}

TEST_F(ExtensionCompiling, PrecompiledHeadersMakeTheSameLibrary) {
  const std::string with_torch =
      "from torch.utils.cpp_extension import load_inline\n"
      "load_inline(name='one', cpp_sources='torch::Tensor one(torch::Tensor x) { return x + torch::relu(x); "
      "}', "
      "functions=['one'], extra_cflags=['-O1'])\n";
  const auto headers = [&] {
    return std::distance(fs::directory_iterator(scratch_.path() / "torch-headers"), fs::directory_iterator());
  };
  const ModuleBuilt without = build(with_torch);
  ASSERT_FALSE(without.failure) << without.failure->details;
  EXPECT_EQ(headers(), 0);
  builder_->prepare();
  ASSERT_EQ(headers(), 1);
  for (const auto& file : fs::directory_iterator(scratch_.path() / "torch-objects")) fs::remove(file);
  const ModuleBuilt with = build(with_torch);
  ASSERT_FALSE(with.failure) << with.failure->details;
  EXPECT_EQ(counts(), (Counts{4, 0}));
  EXPECT_TRUE(with.extensions.at(0).bytes == without.extensions.at(0).bytes);
  builder_->prepare();
  EXPECT_EQ(headers(), 1);
}

TEST(HeaderFlags, AreThoseThatHeadersDependOn) {
  const std::string lead = "#include <torch/extension.h>\n";
  EXPECT_THAT(*header_flags(unit(lead, {"-O3", "-DN=4", "-Wall", "-std=c++20", "-w"})),
              ElementsAre("-O3", "-std=c++20"));
  EXPECT_TRUE(header_flags(unit(lead, {}))->empty());
  EXPECT_FALSE(header_flags(unit(lead, {"-fplugin=x"})));
  EXPECT_FALSE(header_flags(unit(lead, {"-O3", "-fno-exceptions"})));
  EXPECT_FALSE(header_flags(unit("int f();", {})));
  EXPECT_FALSE(header_flags(unit(lead, {}, "cuda.cu")));
}

}  // namespace
}  // namespace temper::env
