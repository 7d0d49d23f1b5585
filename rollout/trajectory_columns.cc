#include "rollout/trajectory_columns.h"

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "rollout/columns.h"

namespace temper::rollout {

using env::Verdict;

namespace {

using Json = nlohmann::json;

constexpr const char *kFormat = "temper trajectories", *kVersion = "2";
// The columns of verdicts: one line of JSON per turn, or one list as CBOR.
constexpr const char *kVerdicts = "turn.verdict", *kBinaryVerdicts = "turn.verdict.cbor";

// As many as there are turns, and no deeper than one is.
constexpr JsonLimits kVerdictLimits{.bytes = UINT64_MAX, .depth = 8, .values = INT64_MAX};

struct Tables {
  // Trajectories: `task` counts in the note "tasks".
  std::vector<int32_t> task;
  std::vector<int64_t> step, sample;
  // Segments: their own tokens are [begin, end) of the token columns.
  std::vector<int32_t> of_trajectory, parent, prefix;
  std::vector<int64_t> begin, end;
  // Tokens.
  std::vector<int32_t> id;
  std::vector<uint8_t> role;
  std::vector<float> log_prob;
  // Turns: the answer is [answer_begin, answer_end) of the token columns, the summary likewise.
  std::vector<int32_t> turn_trajectory, turn_segment;
  std::vector<int64_t> answer_begin, answer_end, summary_begin, summary_end;
  std::vector<uint8_t> stopped, kind;
  std::vector<double> speedup, speedup_low, speedup_high, candidate_us, baseline_us;

  // Each column's name and numbers.
  void visit(const auto& column) {
    column("trajectory.task", task);
    column("trajectory.step", step);
    column("trajectory.sample", sample);
    column("segment.trajectory", of_trajectory);
    column("segment.parent", parent);
    column("segment.prefix", prefix);
    column("segment.begin", begin);
    column("segment.end", end);
    column("token.id", id);
    column("token.role", role);
    column("token.log_prob", log_prob);
    column("turn.trajectory", turn_trajectory);
    column("turn.segment", turn_segment);
    column("turn.begin", answer_begin);
    column("turn.end", answer_end);
    column("turn.summary_begin", summary_begin);
    column("turn.summary_end", summary_end);
    column("turn.stopped", stopped);
    column("turn.kind", kind);
    column("turn.speedup", speedup);
    column("turn.speedup_low", speedup_low);
    column("turn.speedup_high", speedup_high);
    column("turn.candidate_us", candidate_us);
    column("turn.baseline_us", baseline_us);
  }
};

std::string kind_names() {
  Json names = Json::array();
  for (int kind = 0; kind <= int(env::VerdictKind::kInfra); ++kind)
    names.push_back(env::to_string(env::VerdictKind(kind)));
  return names.dump();
}

std::string role_names() {
  Json names = Json::array();
  for (int role = 0; role < kRoles; ++role) names.push_back(to_string(Role(role)));
  return names.dump();
}

// Writing.

void add_segments(const Trajectory& trajectory, int32_t index, Tables& t) {
  for (const Segment& segment : trajectory.segments) {
    const auto own = ptrdiff_t(segment.prefix);
    t.of_trajectory.push_back(index);
    t.parent.push_back(segment.parent);
    t.prefix.push_back(segment.prefix);
    t.begin.push_back(int64_t(t.id.size()));
    t.id.insert(t.id.end(), segment.ids.begin() + own, segment.ids.end());
    for (const Role role : std::span(segment.roles).subspan(size_t(own))) t.role.push_back(uint8_t(role));
    t.log_prob.insert(t.log_prob.end(), segment.log_probs.begin() + own, segment.log_probs.end());
    t.end.push_back(int64_t(t.id.size()));
  }
}

// An answer lies among its segment's own tokens. `first`: of the trajectory's segments in the table.
void add_turns(const Trajectory& trajectory, int32_t index, size_t first, Tables& t) {
  for (const Turn& turn : trajectory.turns) {
    const size_t row = first + size_t(turn.segment);
    const int64_t shift = t.begin[row] - t.prefix[row];
    TEMPER_CHECK(turn.begin >= t.prefix[row] && turn.end + shift <= t.end[row], "[{}, {}) of segment {}",
                 turn.begin, turn.end, turn.segment);
    t.turn_trajectory.push_back(index);
    t.turn_segment.push_back(turn.segment);
    t.answer_begin.push_back(turn.begin + shift);
    t.answer_end.push_back(turn.end + shift);
    const bool sums_up = turn.summary.begin < turn.summary.end;
    t.summary_begin.push_back(sums_up ? turn.summary.begin + shift : turn.end + shift);
    t.summary_end.push_back(sums_up ? turn.summary.end + shift : turn.end + shift);
    t.stopped.push_back(turn.stopped);
    t.kind.push_back(uint8_t(turn.verdict.kind));
    t.speedup.push_back(turn.verdict.speedup);
    t.speedup_low.push_back(turn.verdict.speedup_low);
    t.speedup_high.push_back(turn.verdict.speedup_high);
    t.candidate_us.push_back(turn.verdict.candidate_us);
    t.baseline_us.push_back(turn.verdict.baseline_us);
  }
}

std::string verdict_lines(std::span<const Trajectory* const> trajectories) {
  std::string lines;
  for (const Trajectory* trajectory : trajectories)
    for (const Turn& turn : trajectory->turns)
      lines += Json(turn.verdict).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return lines;
}

std::string verdict_cbor(std::span<const Trajectory* const> trajectories) {
  Json all = Json::array();
  for (const Trajectory* trajectory : trajectories)
    for (const Turn& turn : trajectory->turns) all.push_back(turn.verdict);
  std::string bytes;
  Json::to_cbor(all, bytes);
  return bytes;
}

// Reading.

void require(bool holds, const char* table, size_t row, const char* what) {
  if (!holds) throw ConfigError("{} {}: {}", table, row, what);
}

// Checks that all columns of a table have the same length. Tables are distinguished by the prefix of the name.
void check_lengths(Tables& t) {
  std::map<std::string, size_t> rows;
  t.visit([&](const std::string& name, const auto& numbers) {
    const auto [table, fresh] = rows.try_emplace(name.substr(0, name.find('.')), numbers.size());
    if (table->second != numbers.size())
      throw ConfigError("{} has {} rows where the columns before it have {}", name, numbers.size(),
                        table->second);
  });
}

// With the rows of the trajectory so far, so that a prefix is within its parent's.
Segment segment_at(const Tables& t, size_t row, const std::vector<Segment>& before) {
  const int64_t begin = t.begin[row], end = t.end[row], parent = t.parent[row], prefix = t.prefix[row];
  require(begin == (row == 0 ? 0 : t.end[row - 1]) && begin <= end && end <= int64_t(t.id.size()), "segment",
          row, "its tokens do not follow those before");
  require(parent >= -1 && parent < std::ssize(before), "segment", row, "its parent is none before it");
  require(prefix >= 0 && prefix <= (parent < 0 ? 0 : std::ssize(before[size_t(parent)].ids)), "segment", row,
          "its prefix is longer than its parent's row");
  require(prefix + end - begin <= std::numeric_limits<int32_t>::max(), "segment", row, "its row is too long");
  Segment segment;
  if (parent >= 0) segment = begin_segment(int32_t(parent), before[size_t(parent)], size_t(prefix));
  segment.ids.insert(segment.ids.end(), t.id.begin() + begin, t.id.begin() + end);
  segment.log_probs.insert(segment.log_probs.end(), t.log_prob.begin() + begin, t.log_prob.begin() + end);
  for (int64_t token = begin; token < end; ++token) {
    require(t.role[size_t(token)] < kRoles, "token", size_t(token), "its role is unknown");
    segment.roles.push_back(Role(t.role[size_t(token)]));
  }
  return segment;
}

// Rows of a table that belongs to trajectories stand in their order.
size_t owner(const std::vector<int32_t>& of, size_t row, size_t trajectories, const char* table) {
  require(of[row] >= (row == 0 ? 0 : of[row - 1]) && size_t(of[row]) < trajectories, table, row,
          "its trajectory is out of order");
  return size_t(of[row]);
}

void read_segments(const Tables& t, std::vector<Trajectory>& trajectories) {
  for (size_t row = 0; row < t.begin.size(); ++row) {
    Trajectory& to = trajectories[owner(t.of_trajectory, row, trajectories.size(), "segment")];
    to.segments.push_back(segment_at(t, row, to.segments));
  }
  const int64_t covered = t.end.empty() ? 0 : t.end.back();
  if (covered != int64_t(t.id.size()))
    throw ConfigError("segments hold {} of {} tokens", covered, t.id.size());
}

// First segment of each trajectory in the table.
std::vector<size_t> first_segments(const std::vector<Trajectory>& trajectories) {
  std::vector<size_t> first;
  size_t next = 0;
  for (const Trajectory& trajectory : trajectories) {
    first.push_back(next);
    next += trajectory.segments.size();
  }
  return first;
}

Turn turn_at(const Tables& t, size_t row, const Trajectory& of, size_t first) {
  require(t.turn_segment[row] >= 0 && size_t(t.turn_segment[row]) < of.segments.size(), "turn", row,
          "its segment is none");
  const size_t segment = first + size_t(t.turn_segment[row]);
  const auto span_at = [&](int64_t begin, int64_t end, int64_t from) {
    require(from <= begin && begin <= end && end <= t.end[segment], "turn", row,
            "it is not within its segment");
    const int64_t shift = t.prefix[segment] - t.begin[segment];
    return Span{int32_t(begin + shift), int32_t(end + shift)};
  };
  const Span answer = span_at(t.answer_begin[row], t.answer_end[row], t.begin[segment]);
  Turn turn{.segment = t.turn_segment[row], .begin = answer.begin, .end = answer.end};
  turn.summary = span_at(t.summary_begin[row], t.summary_end[row], t.answer_end[row]);
  turn.stopped = t.stopped[row] != 0;
  return turn;
}

std::vector<Verdict> verdicts_of(const ColumnReader& reader) {
  if (reader.has(kBinaryVerdicts))
    return parse_cbor(reader.text(kBinaryVerdicts), "the verdicts", kVerdictLimits)
        .get<std::vector<Verdict>>();
  const std::string_view lines = reader.text(kVerdicts);
  std::vector<Verdict> verdicts;
  for (size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    verdicts.push_back(Json::parse(lines.substr(at, end - at)).get<Verdict>());
  }
  return verdicts;
}

void read_turns(const Tables& t, std::vector<Verdict> verdicts, std::vector<Trajectory>& trajectories) {
  if (verdicts.size() != t.answer_begin.size())
    throw ConfigError("{} verdicts for {} turns", verdicts.size(), t.answer_begin.size());
  const std::vector<size_t> first = first_segments(trajectories);
  for (size_t row = 0; row < verdicts.size(); ++row) {
    const size_t index = owner(t.turn_trajectory, row, trajectories.size(), "turn");
    trajectories[index].turns.push_back(turn_at(t, row, trajectories[index], first[index]));
    trajectories[index].turns.back().verdict = std::move(verdicts[row]);
  }
}

}  // namespace

std::string to_columns(std::span<const Trajectory* const> trajectories, ColumnForm form) {
  Tables t;
  std::map<std::string, int32_t> tasks;
  Json names = Json::array();
  for (size_t i = 0; i < trajectories.size(); ++i) {
    const Trajectory& trajectory = *trajectories[i];
    const auto [task, fresh] = tasks.try_emplace(trajectory.task, int32_t(tasks.size()));
    if (fresh) names.push_back(trajectory.task);
    t.task.push_back(task->second);
    t.step.push_back(trajectory.step);
    t.sample.push_back(trajectory.sample);
    const size_t first = t.begin.size();
    add_segments(trajectory, int32_t(i), t);
    add_turns(trajectory, int32_t(i), first, t);
  }
  ColumnWriter writer;
  writer.note("format", kFormat);
  writer.note("version", kVersion);
  writer.note("tasks", names.dump(-1, ' ', true, Json::error_handler_t::replace));
  writer.note("kinds", kind_names());
  writer.note("roles", role_names());
  t.visit([&](const std::string& name, const auto& numbers) {
    writer.add(name, numbers, form == ColumnForm::kZstd);
  });
  const bool ranks = form == ColumnForm::kRanks;
  const std::string verdicts = ranks ? verdict_cbor(trajectories) : verdict_lines(trajectories);
  writer.add_text(ranks ? kBinaryVerdicts : kVerdicts, verdicts);
  return writer.file();
}

std::vector<Trajectory> from_columns(std::string bytes) {
  const ColumnReader reader(std::move(bytes));
  if (reader.note("format") != kFormat) throw ConfigError("a file of '{}'", reader.note("format"));
  if (reader.note("version") != kVersion)
    throw ConfigError("it has format version {}, this program reads {}", reader.note("version"), kVersion);
  Tables t;
  t.visit([&]<class T>(const std::string& name, std::vector<T>& numbers) {
    const std::span<const T> column = reader.numbers<T>(name);
    numbers.assign(column.begin(), column.end());
  });
  check_lengths(t);
  const auto tasks = Json::parse(reader.note("tasks")).get<std::vector<std::string>>();
  std::vector<Trajectory> trajectories(t.task.size());
  for (size_t i = 0; i < trajectories.size(); ++i) {
    require(t.task[i] >= 0 && size_t(t.task[i]) < tasks.size(), "trajectory", i, "its task has no name");
    trajectories[i].task = tasks[size_t(t.task[i])];
    trajectories[i].step = t.step[i];
    trajectories[i].sample = t.sample[i];
  }
  read_segments(t, trajectories);
  read_turns(t, verdicts_of(reader), trajectories);
  return trajectories;
}

}  // namespace temper::rollout
