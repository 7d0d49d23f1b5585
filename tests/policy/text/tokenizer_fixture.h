#pragma once
// A small tokenizer of code, for tests.

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "policy/text/tokenizer.h"

namespace temper::policy {

inline std::vector<std::string> code_texts() {
  std::vector<std::string> texts;
  for (const char* op : {"x[i] + y[i]", "x[i] * 2.0f", "x[i] > 0 ? x[i] : 0.0f", "x[i] * x[i] - y[i]"}) {
    for (const char* loop :
         {"long i = 0; i < n; ++i", "long i = 0; i < n * m; i += 4", "int i = n - 1; i >= 0; --i"}) {
      for (const char* plan :
           {"One pass over all elements.", "Unroll the loop by four.", "Keep the sum in a register."}) {
        texts.push_back(
            std::string(plan) + "\n```cpp\nextern \"C\" void kernel(const float* x, const float* y, " +
            "float* out, long n, long m) {\n  for (" + loop + ") {\n    out[i] = " + op + ";\n  }\n}\n```\n");
      }
    }
  }
  return texts;
}

// A new directory, gone with the object.
class TokenizerDir {
 public:
  TokenizerDir() {
    static int made = 0;
    path = std::filesystem::temp_directory_path() / fmt::format("temper_tokenizer_{}_{}", ::getpid(), made++);
    std::filesystem::create_directories(path);
  }
  ~TokenizerDir() { std::filesystem::remove_all(path); }

  std::filesystem::path path;
};

inline Tokenizer code_tokenizer(int64_t vocab_size = 640) {
  return Tokenizer::train(code_texts(), vocab_size);
}

}  // namespace temper::policy
