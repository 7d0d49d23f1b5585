#include "env/compile/cuda_headers.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "env/compile/cuda_compile.h"
#include "env/compile/cxx_driver.h"
#include "env/languages/cuda_text.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kWorthIt = 3;                   // units
constexpr int64_t kPrecompiled_bytes = 64 << 20;  // 14 MB are usual
constexpr const char* kMacros = "headers.h";
constexpr const char* kCode = "code.h";
constexpr const char* kPrecompiled = "code.h.gch";  // where g++ looks for it
constexpr const char* kProbe = "int temper_probe";
constexpr const char* kTrial =
    "__global__ void work(float* x) { x[threadIdx.x] = expf(x[threadIdx.x]); }\n"
    "extern \"C\" void launch(float* x) { work<<<1, 32>>>(x); }\n";

// The includes before the candidate's text (languages/cuda.cc). Empty for other units, and for those that could detect
// how they were compiled.
std::optional<std::string> lead_of(const std::string& unit) {
  const size_t end = unit.find(kOwnText);
  if (end == std::string::npos || unit.find("__COUNTER__") != std::string::npos) return std::nullopt;
  return unit.substr(0, end);
}

// What a compiler writes for the headers of a probe: all in front of the line mark of its one declaration.
std::string text_of_headers(const std::string& text) {
  const size_t probe = text.find(kProbe);
  if (probe == std::string::npos || probe < 2)
    throw WorldError("a compiler's output has not what was compiled");
  const size_t mark = text.rfind('\n', probe - 2) + 1;
  if (text[mark] != '#') throw WorldError("a compiler's output has no line marks");
  return text.substr(0, mark);
}

bool only_marks(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') return false;
  return true;
}

auto& word_after(auto& words, const std::string& option) {
  const auto at = std::ranges::find(words, option);
  if (at == words.end() || at + 1 == words.end())
    throw WorldError("{} is called without {}", words.front(), option);
  return *(at + 1);
}

// For one half: the preprocessor's output for the headers, and its output if it is given their macros instead.
struct Preprocessed {
  std::string macros, text, begins;
};

// The toolchain whose preprocessor is given macros instead of the headers.
Toolchain with_macros(Toolchain tools, const std::string& macros) {
  word_after(tools.steps[0].program, "-include") = kMacros;
  tools.files.emplace_back(kMacros, macros);
  return tools;
}

Toolchain with_text(const Toolchain& tools, const Preprocessed& headers) {
  Toolchain result = with_macros(tools, headers.macros);
  CompileStep& first = result.steps[0];
  first.edit = {.file = word_after(first.program, "-o"), .begins = headers.begins, .becomes = headers.text};
  return result;
}

// What compilers make of a lead's headers.
class Reader {
 public:
  Reader(const std::string& lead, uid_t user) : probe_(lead + kOwnText + kProbe + ";\n"), user_(user) {
    quota_.file_bytes = quota_.object_bytes = kPrecompiled_bytes;
  }

  Preprocessed preprocess(Toolchain tools) const {
    const std::string output = word_after(tools.steps[0].program, "-o");
    const std::string text = run(tools, 1, output, probe_);
    tools.steps[0].program.emplace_back("-dM");
    Preprocessed headers{
        .macros = run(tools, 1, output, probe_), .text = text_of_headers(text), .begins = ""};
    tools.steps[0].program.pop_back();
    const std::string rest = run(with_macros(tools, headers.macros), 1, output, probe_);
    headers.begins = text_of_headers(rest);
    if (!only_marks(headers.begins) || rest.substr(headers.begins.size()) != text.substr(headers.text.size()))
      throw WorldError("macros do not stand for the headers");
    return headers;
  }

  // What cudafe++ makes of them.
  std::string code(const Toolchain& host) const {
    return text_of_headers(run(host, 2, code_file(host), probe_));
  }

  std::string precompiled(const Toolchain& host, const std::string& code) const {
    Toolchain tools = host;
    tools.steps = {host.steps[2]};
    tools.source = code_file(host);
    std::ranges::copy(CxxDriver().precompiling(kPrecompiled), std::back_inserter(tools.steps[0].program));
    return run(tools, 1, kPrecompiled, code);
  }

  static std::string code_file(const Toolchain& host) {
    return word_after(host.steps[1].program, "--gen_c_file_name");
  }

 private:
  // The file `product` after the first `steps` of the toolchain.
  std::string run(Toolchain tools, size_t steps, const std::string& product,
                  const std::string& source) const {
    tools.steps.resize(steps);
    tools.object = product;
    tools.cubin = tools.ptx = tools.stubs = "";
    CompileResult result = compile(tools, source, quota_, user_);
    if (!result.ok) throw WorldError("{}: {}", result.reason, result.diagnostics);
    return std::move(result.object);
  }

  std::string probe_;
  uid_t user_;
  CompileQuota quota_ = cuda_compile_quota();
};

void save(const fs::path& folder, const std::string& half, const Preprocessed& headers) {
  write_file(folder / (half + ".macros"), headers.macros);
  write_file(folder / (half + ".text"), headers.text);
  write_file(folder / (half + ".begins"), headers.begins);
}

Preprocessed read_back(const fs::path& folder, const std::string& half) {
  return {.macros = read_file(folder / (half + ".macros")),
          .text = read_file(folder / (half + ".text")),
          .begins = read_file(folder / (half + ".begins"))};
}

// The compiler of a box has another user.
void let_all_read(const fs::path& folder) {
  constexpr auto kRead = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  constexpr auto kEnter = fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec;
  for (const auto& file : fs::directory_iterator(folder)) fs::permissions(file, kRead);
  fs::permissions(folder, kRead | kEnter);
}

}  // namespace

CudaHeaders::CudaHeaders(CudaToolchain plain, fs::path folder)
    : plain_(std::move(plain)), folder_(std::move(folder)) {}

fs::path CudaHeaders::place(const std::string& lead) const { return folder_ / sha256(lead); }

const CudaToolchain& CudaHeaders::of(const std::string& unit) {
  const auto lead = folder_.empty() ? std::nullopt : lead_of(unit);
  if (!lead) return plain_;
  ++units_;
  std::optional<CudaToolchain>& tools = leads_[*lead];
  try {
    if (!tools && fs::exists(place(*lead))) tools = load(place(*lead));
  } catch (const std::exception&) {
    // somebody has taken them away
  }
  return tools ? *tools : plain_;
}

// Whole folders appear under their name; the one they are made in also says that somebody does.
void CudaHeaders::read(uid_t user) {
  if (units_ < kWorthIt) return;
  for (const auto& [lead, tools] : leads_) {
    const fs::path made = place(lead).string() + ".made";
    if (tools || fs::exists(place(lead)) || !fs::create_directory(made)) continue;
    const Reader reader(lead, user);
    const Preprocessed device = reader.preprocess(plain_.device), host = reader.preprocess(plain_.host);
    const std::string code = reader.code(with_text(plain_.host, host));
    save(made, "device", device);
    save(made, "host", host);
    write_file(made / kCode, code);
    write_file(made / kPrecompiled, reader.precompiled(plain_.host, code));
    let_all_read(made);
    try_out(lead, made, user);
    fs::rename(made, place(lead));
  }
}

void CudaHeaders::try_out(const std::string& lead, const fs::path& folder, uid_t user) const {
  CudaToolchain tools = load(folder);
  tools.host.steps[1].edit->needed = true;
  tools.plain_host = tools.host;
  const std::string unit = lead + kOwnText + kTrial;
  const auto without = compile_cuda(plain_, unit, {}, cuda_compile_quota(), user).result;
  const auto with = compile_cuda(tools, unit, {}, cuda_compile_quota(), user).result;
  if (!with.ok || with.cubin != without.cubin || with.object != without.object)
    throw WorldError("what is compiled with them is not what is compiled without {}", with.diagnostics);
}

CudaToolchain CudaHeaders::load(const fs::path& folder) const {
  CudaToolchain tools = plain_;
  tools.device = with_text(plain_.device, read_back(folder, "device"));
  tools.host = with_text(plain_.host, read_back(folder, "host"));
  tools.host.folders.push_back(folder);
  tools.host.steps[1].edit = {.file = Reader::code_file(tools.host),
                              .begins = read_file(folder / kCode),
                              .becomes = fmt::format("#include \"{}\"\n", (folder / kCode).string()),
                              .needed = false};
  return tools;
}

}  // namespace temper::env
