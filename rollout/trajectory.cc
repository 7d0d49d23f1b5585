#include "rollout/trajectory.h"

#include <array>

#include "base/error.h"
#include "env/task/task.h"

namespace temper::rollout {
namespace {

constexpr std::array<const char*, kRoles> kRoleNames = {"prompt",  "plan",    "code",   "feedback",
                                                        "history", "request", "summary"};

std::string verdict_line(const env::Verdict& verdict) {
  std::string line = env::to_string(verdict.kind);
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
  for (const env::ShapeTime& at : verdict.shapes)
    line += fmt::format("\n  {}: {:.2f} us against {:.2f} us: {:.2f}x", env::sizes_text(at.sizes),
                        at.candidate_us, at.baseline_us, at.speedup);
  return line;
}

// The tokens of a segment behind its prefix, each role's stretch under its name, and the verdict of each
// answer.
std::string own_text(const Trajectory& trajectory, size_t segment, const policy::Tokenizer& tokenizer) {
  const Segment& row = trajectory.segments[segment];
  std::string text;
  for (size_t t = size_t(row.prefix); t < row.ids.size(); ++t) {
    if (t == size_t(row.prefix) || row.roles[t] != row.roles[t - 1])
      text += fmt::format("\n--- {}\n", to_string(row.roles[t]));
    text += tokenizer.token_text(row.ids[t]);
    for (const Turn& turn : trajectory.turns)
      if (size_t(turn.segment) == segment && int64_t(t) + 1 == turn.end)
        text += fmt::format("\n--- verdict{}\n{}", turn.stopped ? "" : " (cut at the length limit)",
                            verdict_line(turn.verdict));
  }
  return text;
}

}  // namespace

const char* to_string(Role role) { return kRoleNames[size_t(role)]; }

void Segment::append(const std::vector<int32_t>& more, Role role) {
  ids.insert(ids.end(), more.begin(), more.end());
  roles.resize(ids.size(), role);
  log_probs.resize(ids.size(), 0);
}

Segment begin_segment(int32_t parent, const Segment& from, size_t prefix) {
  Segment row{.parent = parent, .prefix = int32_t(prefix), .ids = {}, .roles = {}, .log_probs = {}};
  row.ids.assign(from.ids.begin(), from.ids.begin() + ptrdiff_t(prefix));
  row.roles.assign(from.roles.begin(), from.roles.begin() + ptrdiff_t(prefix));
  row.log_probs.resize(prefix, 0);
  return row;
}

std::vector<int32_t> Trajectory::answer_ids(const Turn& turn) const {
  const std::vector<int32_t>& ids = row_of(turn).ids;
  return {ids.begin() + turn.begin, ids.begin() + turn.end};
}

std::vector<const Turn*> BatchRow::turns() const {
  std::vector<const Turn*> turns;
  for (const Turn& turn : trajectory->turns)
    if (turn.segment == segment) turns.push_back(&turn);
  return turns;
}

std::vector<BatchRow> rows_of(const Batch& batch) {
  std::vector<BatchRow> rows;
  for (const Group& group : batch.groups)
    for (const Trajectory& trajectory : group.samples)
      for (size_t segment = 0; segment < trajectory.segments.size(); ++segment)
        rows.push_back({&trajectory, int32_t(segment)});
  return rows;
}

std::string to_text(const Trajectory& trajectory, const policy::Tokenizer& tokenizer) {
  std::string text =
      fmt::format("=== {}, step {}, sample {}", trajectory.task, trajectory.step, trajectory.sample);
  for (size_t segment = 0; segment < trajectory.segments.size(); ++segment) {
    if (segment > 0)
      text += fmt::format("\n--- row {}: the first {} tokens of row {}, then", segment + 1,
                          trajectory.segments[segment].prefix, trajectory.segments[segment].parent + 1);
    text += own_text(trajectory, segment, tokenizer);
  }
  return text + "\n";
}

}  // namespace temper::rollout
