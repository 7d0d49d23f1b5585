#include "trainer/run/terminal.h"

#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>

#include "base/progress.h"

namespace temper::trainer {
namespace {

bool g_terminal = true;

}  // namespace

void use_terminal(bool ours) { g_terminal = ours; }
bool terminal_is_ours() { return g_terminal; }

void say_line(const std::string& line) {
  if (g_terminal) {
    std::fputs((line + "\n").c_str(), stdout);  // whoever read it may be gone: no reason to end
    std::fflush(stdout);
  }
  if (spdlog::default_logger_raw()->name() == kRunLog) spdlog::info("{}", line);
}

void say_beside(const std::string& line) {
  if (g_terminal) std::fputs((line + "\n").c_str(), stderr);
}

ProgressFunction progress_bar(const std::string& title, bool keep) {
  if (!g_terminal) return {};
  auto bar = std::make_shared<std::unique_ptr<Progress>>();
  return [=](int64_t done, int64_t total) {
    if (!*bar) *bar = std::make_unique<Progress>(title, total);
    (*bar)->set(done);
    if (done >= total) (*bar)->finish(keep);
  };
}

}  // namespace temper::trainer
