#include "env/compile/cuda_compile.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/process.h"
#include "env/languages/cuda_text.h"

namespace temper::env {
namespace {

// "# 12 "candidate.cu"": where what follows came from.
bool is_line_mark(const std::string& line) {
  return line.starts_with("# ") && line.find_first_of("0123456789") == 2;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "__T5", "__T3" → "__T0", "__T1", in the order in which they come.
std::string renumbered(const std::string& line, std::map<std::string, size_t>& names) {
  constexpr std::string_view kName = "__T";
  std::string result;
  size_t from = 0;
  for (size_t at = line.find(kName); at != std::string::npos; at = line.find(kName, at + 1)) {
    const size_t digits = at + kName.size();
    const size_t end = std::min(line.find_first_not_of("0123456789", digits), line.size());
    if (end == digits || (at > 0 && in_name(line[at - 1])) || (end < line.size() && in_name(line[end])))
      continue;
    const size_t number = names.emplace(line.substr(digits, end - digits), names.size()).first->second;
    result += line.substr(from, digits - from) + std::to_string(number);
    from = end;
  }
  return result + line.substr(from);
}

class HostCompiler {
 public:
  HostCompiler(const CompileQuota& quota, uid_t user)
      : quota_(quota), user_(user), end_s_(now_s() + double(quota.wall.count()) * 1e-3) {}

  CompileResult compile(const Toolchain& with, const std::string& text, const std::string& stubs) const {
    Toolchain tools = with;
    tools.files.emplace_back(kStubsFile, stubs);
    CompileQuota quota = quota_;
    quota.wall = std::chrono::milliseconds(std::max<int64_t>(0, int64_t((end_s_ - now_s()) * 1e3)));
    return temper::env::compile(tools, text, quota, user_);
  }

 private:
  const CompileQuota& quota_;
  uid_t user_;
  double end_s_;
};

}  // namespace

std::string plain_stubs(const std::string& stubs) {
  std::string plain;
  std::map<std::string, size_t> names;
  std::istringstream lines(stubs);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || is_line_mark(line)) continue;
    const std::string text = renumbered(line.substr(begin, line.find_last_not_of(' ') - begin + 1), names);
    const bool joins = text[0] != '#' && !plain.empty() && plain.back() != '\n';
    if (joins) plain += ' ';
    if (text[0] == '#' && !plain.empty() && plain.back() != '\n') plain += '\n';
    plain += text[0] == '#' ? text + "\n" : text;
  }
  return plain;
}

CudaCompiled compile_cuda(const CudaToolchain& tools, const std::string& unit, const HostHalf& known,
                          const CompileQuota& quota, uid_t user) {
  const HostCompiler host(quota, user);
  CudaCompiled compiled;
  CompileResult& result = compiled.result = compile(tools.device, unit, quota, user);
  if (!result.ok) return compiled;
  HostHalf half{plain_stubs(result.stubs), ""};
  if (!known.object.empty() && known.stubs == half.stubs) {
    compiled.host = HostOrigin::kKnown;
    result.object = known.object;
    return compiled;
  }
  compiled.host = HostOrigin::kMade;
  CompileResult made = host.compile(tools.host, host_text(unit), half.stubs);
  if (made.ok) {
    half.object = made.object;
    compiled.made = std::move(half);
  } else {
    made = host.compile(tools.plain_host, unit, result.stubs);  // what is wrong is said of what was written
  }
  result.ok = made.ok;
  result.object = std::move(made.object);
  result.reason = std::move(made.reason);
  result.diagnostics += made.diagnostics;
  return compiled;
}

}  // namespace temper::env
