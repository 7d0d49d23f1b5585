#include "rollout/trajectory.h"

#include <array>

#include "base/error.h"

namespace temper {
namespace {

constexpr std::array kRoleNames = {"prompt", "plan", "code", "feedback"};

std::string verdict_line(const Verdict& verdict) {
  std::string line = to_string(verdict.kind);
  if (!verdict.reason.empty()) line += fmt::format(" ({})", verdict.reason);
  if (verdict.candidate_us > 0) {
    line += fmt::format(", {:.2f} us against {:.2f} us: {:.2f}x [{:.2f}, {:.2f}]", verdict.candidate_us,
                        verdict.baseline_us, verdict.speedup, verdict.speedup_low, verdict.speedup_high);
  }
  if (verdict.speedup_compiled)
    line += fmt::format(", against torch.compile {:.2f}x", *verdict.speedup_compiled);
  if (verdict.naive)
    line += fmt::format("; naive judge: {}",
                        verdict.naive->pass ? fmt::format("PASS, {:.2f}x", verdict.naive->speedup) : "wrong");
  return line;
}

}  // namespace

const char* to_string(Role role) { return kRoleNames[size_t(role)]; }

std::string to_text(const Trajectory& trajectory, const Tokenizer& tokenizer) {
  std::string text =
      fmt::format("=== {}, step {}, sample {}", trajectory.task, trajectory.step, trajectory.sample);
  size_t turn = 0;
  for (size_t t = 0; t < trajectory.ids.size(); ++t) {
    if (t == 0 || trajectory.roles[t] != trajectory.roles[t - 1]) {
      text += fmt::format("\n--- {}\n", to_string(trajectory.roles[t]));
    }
    text += tokenizer.token_text(trajectory.ids[t]);
    if (turn < trajectory.turns.size() && int64_t(t) + 1 == trajectory.turns[turn].end) {
      const Turn& ended = trajectory.turns[turn++];
      text += fmt::format("\n--- verdict{}\n{}", ended.stopped ? "" : " (cut at the length limit)",
                          verdict_line(ended.verdict));
    }
  }
  return text + "\n";
}

}  // namespace temper
