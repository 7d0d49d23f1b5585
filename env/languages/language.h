#pragma once
// What depends on a candidate's language. Each language has one file, and one line in the table of language.cc; others
// ask for a property instead of comparing names.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace temper::env {

// An argument of a candidate's entry point.
struct CallParameter {
  enum class Role : uint8_t { kInput, kOutput, kSize } role;
  std::string type;  // "float", "__nv_bfloat16": a tensor's is that of its elements
  std::string name;
};

// What a candidate is, and so how it becomes something that can be called.
enum class Form : uint8_t {
  kObject,    // a unit of C++, compiled to a shared object
  kCudaUnit,  // a unit of CUDA C++, compiled to a cubin and a host half
  kPython,    // a Python file whose kernels Triton compiles while it runs
  kModule,    // a Python file with a module of PyTorch, which runs beside a GPU as it is
};

struct Language {
  std::string name;        // of the key `language` in task files
  std::string fence = {};  // what follows the fence around an answer's code; empty: the name
  std::vector<std::string> fence_words = {};  // what models write there for it, in lower case
  std::string title = {};  // in sentences: "CUDA C++"; empty where a prompt's options say what kernels are in
  // How a candidate gets its tensors and what it may do, in whole sentences, for a policy that is asked so.
  std::string calling = {};
  Form form = Form::kObject;
  std::string extension;       // of a file with a candidate: ".cu"
  std::string comment = "//";  // what a comment begins with
  // Whether candidates are judged on a GPU, where a core has compiled them and made their plans. All others are judged
  // on a core.
  bool on_gpu = false;
  bool short_floats = false;  // tensors may be bf16 and f16
  // Another language whose tasks can be solved in this one as well: `tasks.language` then reads them as its own. Or "".
  std::string also_tasks_of = {};
  std::vector<std::string> reserved_words = {};  // no tensor or size of a task may be called so
  std::vector<std::string> compiler_flags;       // ours alone: nothing in a candidate changes them
  std::vector<std::string> newer_flags;          // beside them, for what does not compile without; or none
  std::string entry_point;                       // what a source must mention
  std::string entry_symbol;                      // what its object must define
  std::string no_entry_words = {};  // what to say of a source without an entry point; "": what fits C
  // The declaration that the entry point must have.
  std::string (*signature)(const std::vector<CallParameter>& parameters) = nullptr;
  // The text that a compiler of ours reads. Null where there is none.
  std::string (*translation_unit)(const std::vector<CallParameter>& parameters,
                                  const std::string& source) = nullptr;
  // The part of that text on which the host's half of the object depends. Candidates that share it share the half. Null
  // if there is no such half.
  std::string (*host_text)(const std::string& unit) = nullptr;
};

// All languages. Where any would do, the first is taken.
std::span<const Language* const> languages();
std::vector<std::string> language_names();

// Errors: ConfigError naming the languages there are.
const Language& find_language(const std::string& name);

// What the fence of an answer in that language says: ```cpp.
const std::string& fence_word(const Language& language);

// 'extern "C" void kernel(const float* x, const int* idx, float* y, int n)'
std::string c_signature(const std::string& entry_point, const std::vector<CallParameter>& parameters);

// The first language of files with that extension, or null.
const Language* language_of_extension(const std::string& extension);

// Those in which task files may ask. Problems in Form::kModule are read from Python instead (env/task/module_reader.h).
std::vector<std::string> task_file_languages();

extern const Language kCpp, kCuda, kTriton, kKernelBench;

}  // namespace temper::env
