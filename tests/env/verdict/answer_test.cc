#include "env/verdict/answer.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace temper::env {
namespace {

TEST(Answer, TakesTheCodeBetweenTheFences) {
  const std::string text = "plan: one pass\n```cpp\nint x;\n\nint y;\n```\nbye";
  const Answer answer = extract_code(text);
  ASSERT_TRUE(answer.ok) << answer.reason;
  EXPECT_EQ(answer.code, "int x;\n\nint y;\n");
  EXPECT_EQ(text.substr(answer.code_begin, answer.code_end - answer.code_begin),
            "```cpp\nint x;\n\nint y;\n```\n");
}

TEST(Answer, LanguageWordCarriageReturnAndLastLineAreOptional) {
  EXPECT_EQ(extract_code("```\nint x;\n```").code, "int x;\n");
  EXPECT_EQ(extract_code("```c++\r\nint x;\r\n```\r\n").code, "int x;\r\n");
}

TEST(Answer, SaysWhyThereIsNoCode) {
  EXPECT_EQ(extract_code("").reason, "no_code_block");
  EXPECT_EQ(extract_code("int x;").reason, "no_code_block");
  EXPECT_EQ(extract_code("use ``` here and ``` there").reason, "no_code_block");
  EXPECT_EQ(extract_code("```cpp\nint x;\n").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code("```cpp\n \n```").reason, "empty_code_block");
}

TEST(Answer, TheLastBlockCounts) {
  const std::string block = "```cpp\nint x;\n```\n";
  const Answer answer = extract_code("```\nint y;\n```\nbetter\n" + block);
  ASSERT_TRUE(answer.ok);
  EXPECT_EQ(answer.code, "int x;\n");
  EXPECT_EQ(answer.code_begin, 22u);
  EXPECT_EQ(answer.code_end, 22u + block.size());
  EXPECT_EQ(extract_code(block + "```cpp\nint z;\n").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code(block + "```\n```\n").reason, "empty_code_block");
}

TEST(Answer, WhatStandsInReasoningIsNoAnswer) {
  const std::string draft = "```cpp\nint draft;\n```\n", block = "```cpp\nint x;\n```\n";
  const std::string thoughts = "<think>\nfirst\n" + draft + "```\nnot closed\n</think>\n\n";
  const Answer answer = extract_code(thoughts + block);
  ASSERT_TRUE(answer.ok) << answer.reason;
  EXPECT_EQ(answer.code, "int x;\n");
  EXPECT_EQ(answer.code_begin, thoughts.size());
  EXPECT_EQ(answer.code_end, thoughts.size() + block.size());
  EXPECT_EQ(extract_code("<think>\n" + draft + "</think>\nno code").reason, "no_code_block");
  EXPECT_EQ(extract_code("a</think>b\n" + draft + "</think>" + block).code, "int x;\n");
}

TEST(Answer, ReasoningThatNeverClosesIsNoAnswer) {
  const std::string block = "```cpp\nint x;\n```\n";
  EXPECT_EQ(extract_code("<think>\n" + block).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("<think>").reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("<think>a</think>\n" + block + "<think> wait").reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("<think> ```\n" + block).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code(block, "", true).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("", "", true).reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code("so\n</think>\n" + block, "", true).code, "int x;\n");
  EXPECT_EQ(extract_code("so\n</think>\n" + block).code, "int x;\n");
  EXPECT_EQ(extract_code("```\n// <think>\nint x;\n```\n").code, "// <think>\nint x;\n");
}

TEST(Answer, FencesAreCommonMarks) {
  EXPECT_EQ(extract_code("~~~cpp\nint x;\n```\n~~~").code, "int x;\n```\n");
  EXPECT_EQ(extract_code("````\n```\nint x;\n```\n`````  \n").code, "```\nint x;\n```\n");
  EXPECT_EQ(extract_code("```cpp fast version\nint x;\n```").code, "int x;\n");
  EXPECT_EQ(extract_code("~~~ cpp `really`\nint x;\n~~~").code, "int x;\n");
  EXPECT_EQ(extract_code("``` `cpp`\nint x;\n").reason, "no_code_block");
  EXPECT_EQ(extract_code("``\nint x;\n``\n").reason, "no_code_block");
  EXPECT_EQ(extract_code("~~~\nint x;\n~~\n").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code("```\nint x;\n    ```\n").reason, "unclosed_code_block");
}

TEST(Answer, CodeLosesTheIndentOfItsFence) {
  const std::string text = "1. So:\n   ```cpp\n   int x;\n     int y;\n int z;\n\n ```\n";
  const Answer answer = extract_code(text);
  ASSERT_TRUE(answer.ok) << answer.reason;
  EXPECT_EQ(answer.code, "int x;\n  int y;\nint z;\n\n");
  EXPECT_EQ(answer.code_begin, 7u);
  EXPECT_EQ(answer.code_end, text.size());
}

// What takes time by the square of its length would take hours.
TEST(Answer, LongTextsAreReadOnce) {
  std::string fences, thoughts, line = "```\n";
  for (int i = 0; i < 2'000'000; ++i) {
    fences += i % 2 == 0 ? "```\nx\n" : "```\n";
    thoughts += "</think";
    line += "`~<";
  }
  EXPECT_EQ(extract_code(fences).code, "x\n");
  EXPECT_EQ(extract_code(fences + "```").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code(thoughts).reason, "no_code_block");
  EXPECT_EQ(extract_code(thoughts + "\n<think>").reason, "unclosed_reasoning");
  EXPECT_EQ(extract_code(line + std::string(4'000'000, '`')).reason, "unclosed_code_block");
  EXPECT_EQ(extract_code(std::string(8'000'000, '\n') + "```\nx\n```").code, "x\n");
}

TEST(Answer, AFenceInsideALineOfCodeDoesNotCloseTheBlock) {
  EXPECT_EQ(extract_code("```\n// ``` x\nint x;\n```\n").code, "// ``` x\nint x;\n");
}

const std::string kKernel =
    "extern \"C\" void kernel(const float* x, float* y, int n) {\n  for (int i = 0; i < n; ++i) y[i] = "
    "x[i];\n}\n";
const std::string kBlock = "```cpp\n" + kKernel + "```\n";

std::string indented(const std::string& text, const std::string& by) {
  std::string all = by;
  for (size_t i = 0; i < text.size(); ++i) {
    all += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) all += by;
  }
  return all;
}

TEST(Answer, IsTheLastBlockInItsLanguageThatDefinesTheKernel) {
  for (const char* behind :
       {"```bash\ng++ -O3 a.cc\n```\n", "```cpp\nfloat a[4], b[4];\nkernel(a, b, 4);\n```\n",
        "```text\n1 us\n```\n", "```\n1 us\n```\n", "```diff\n-a\n+extern \"C\" void kernel(int n) {\n```\n",
        "```bash\ng++ a.cc\n", "```cpp\n// calls kernel(a, b, n) twice\nint main() { return 0; }\n```\n",
        "```cpp\nextern \"C\" void kernel(const float* x, float* y, int n);\n```\n",
        "```python\ndef kernel(x):\n  pass\n```\n", "```\n```\n", "```\n", "~~~\nx\n~~~\n",
        "    ```\n    a\n    ```\n"}) {
    const Answer answer = extract_code("A plan.\n\n" + kBlock + "\nThen:\n\n" + behind, "cpp");
    EXPECT_EQ(answer.code, kKernel) << behind << answer.reason;
    EXPECT_EQ(answer.block, 1u);
  }
  const std::string better = "extern \"C\" void kernel(int n) noexcept {}\n";
  const Answer last = extract_code(kBlock + "Better:\n```\n" + better + "```\n", "cpp");
  EXPECT_EQ(last.code, better);
  EXPECT_EQ(block_words(last), "");
  EXPECT_EQ(extract_code("```cpp\n#include <cmath>\n```\n" + kBlock, "cpp").code, kKernel);
  EXPECT_EQ(extract_code("```cuda\n" + kKernel + "```\n", "cpp").code, kKernel);
  EXPECT_EQ(extract_code(kBlock + "```text\n1\n```\n", "").code, "1\n");
}

TEST(Answer, InPythonIsTheOneWithTheFunctionOrTheClass) {
  const std::string launch = "import torch\n\n@decorated\ndef launch(x, n):\n    return x\n";
  EXPECT_EQ(
      extract_code("```python\n" + launch + "```\nUse:\n```python\ny = launch(x, 4)\n```\n", "triton").code,
      launch);
  const std::string model = "class ModelNew(nn.Module):\n    pass\n";
  EXPECT_EQ(
      extract_code("```python\n" + model + "```\n```py\nmodel = ModelNew()\nassert ModelNew == 1\n```\n",
                   "kernelbench")
          .code,
      model);
  EXPECT_EQ(extract_code("```\nModelNew = make()\n```\n```py\nx\n```\n", "kernelbench").code,
            "ModelNew = make()\n");
  const std::string documented = "def launch(x):\n  \"\"\"\n```\nlaunch(x)\n```\n  \"\"\"\n";
  EXPECT_EQ(extract_code("```python\n" + documented + "```\n", "triton").code, documented);
}

TEST(Answer, FencesAreReadAsModelsWriteThem) {
  const std::string commented = "/*\n```\nexample\n```\n*/\n" + kKernel,
                    named = "// </think> is a tag\n" + kKernel;
  for (const auto& [text, code] : std::vector<std::pair<std::string, std::string>>{
           {"```cpp\n" + kKernel, kKernel},
           {"```cpp\n" + kKernel + "``` That is it.\n", kKernel},
           {"```cpp\n" + kKernel + "```<|im_end|>\n", kKernel},
           {"```cpp\n" + kKernel.substr(0, kKernel.size() - 1) + "```\nSo.\n",
            kKernel.substr(0, kKernel.size() - 1)},
           {"Here it is: ```cpp\n" + kKernel + "```\n", kKernel},
           {"```{.cpp .numberLines}\n" + kKernel + "```\n", kKernel},
           {"```C++ title=\"a.cc\"\n" + kKernel + "````\n", kKernel},
           {"\xEF\xBB\xBF" + kBlock, kKernel},
           {"\xE2\x80\x8B" + kBlock, kKernel},
           {"｀｀｀cpp\n" + kKernel + "｀｀｀\n", kKernel},
           {"```markdown\nA plan.\n\n" + kBlock + "```\n", kKernel},
           {"````md\n" + kBlock + "````\n", kKernel},
           {"1. So:\n\n" + indented(kBlock, "    "), kKernel},
           {"- So:\n\n" + indented(kBlock, "\t"), kKernel},
           {"- ```cpp\n" + indented(kKernel, "  ") + "  ```\n", kKernel},
           {indented(kBlock, "> "), kKernel},
           {"```cpp\nint draft;\n\nNo, better:\n" + kBlock, kKernel},
           {"```cpp\n" + commented + "```\n", commented},
           {"```cpp\n" + named + "```\n", named},
           {kBlock + "\nI used <think> tags above.\n", kKernel},
           {"```text\n/*\n```\n" + kBlock, kKernel}})
    EXPECT_EQ(extract_code(text, "cpp").code, code) << text;
  EXPECT_EQ(extract_code("```cpp\nint x;\n", "cpp").reason, "unclosed_code_block");
  EXPECT_EQ(extract_code("```cpp\nint x;\n``` and more").code, "int x;\n");
}

TEST(Answer, SaysWhichBlockIsMeant) {
  Verdict verdict;
  verdict.message = "FAIL";
  const auto said = [&](const std::string& text) {
    return about_block(verdict, block_words(extract_code(text, "cpp"))).message;
  };
  EXPECT_EQ(said(kBlock), "FAIL");
  EXPECT_EQ(said("```\nx\n```\n" + kBlock), "FAIL");
  EXPECT_EQ(said(kBlock + "```\nx\n```\n```sh\ny\n```\n"), "code block 1 of 3: FAIL");
  EXPECT_EQ(said("```cpp\n" + kKernel), "code block 1, which is not closed: FAIL");
}

}  // namespace
}  // namespace temper::env
