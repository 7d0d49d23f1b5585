#include "rollout/trajectory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"

namespace temper {
namespace {

using Json = nlohmann::json;

constexpr std::array kRoleNames = {"prompt", "plan", "code", "feedback"};

// The decimal nearest to the float, so that JSON does not spell out the digits of its double.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

// Runs of one role: [["prompt", 120], ["plan", 7], …].
Json roles_to_json(const std::vector<Role>& roles) {
  Json runs = Json::array();
  for (size_t begin = 0, end; begin < roles.size(); begin = end) {
    for (end = begin; end < roles.size() && roles[end] == roles[begin];) ++end;
    runs.push_back({kRoleNames[size_t(roles[begin])], end - begin});
  }
  return runs;
}

Role role_from(const std::string& name) {
  for (size_t role = 0; role < kRoleNames.size(); ++role) {
    if (name == kRoleNames[role]) return Role(role);
  }
  throw ConfigError("role '{}' is unknown", name);
}

Json to_json(const Trajectory& trajectory) {
  Json log_probs = Json::array(), turns = Json::array();
  for (size_t t = 0; t < trajectory.ids.size(); ++t) {
    if (is_response(trajectory.roles[t])) log_probs.push_back(shortest(trajectory.log_probs[t]));
  }
  for (const Turn& turn : trajectory.turns) {
    turns.push_back(
        {{"begin", turn.begin}, {"end", turn.end}, {"stopped", turn.stopped}, {"verdict", turn.verdict}});
  }
  return {{"task", trajectory.task},
          {"step", trajectory.step},
          {"sample", trajectory.sample},
          {"ids", trajectory.ids},
          {"roles", roles_to_json(trajectory.roles)},
          {"log_probs", log_probs},
          {"turns", turns}};
}

void read_roles(const Json& runs, std::vector<Role>& roles, size_t tokens) {
  for (const Json& run : runs) {
    const auto count = run.at(1).get<uint64_t>();
    if (count > tokens - roles.size()) throw ConfigError("roles cover more than the {} ids", tokens);
    roles.resize(roles.size() + count, role_from(run.at(0)));
  }
  if (roles.size() != tokens) throw ConfigError("roles cover {} of {} ids", roles.size(), tokens);
}

void read_log_probs(const Json& values, Trajectory& trajectory) {
  trajectory.log_probs.assign(trajectory.ids.size(), 0);
  size_t next = 0;
  for (size_t t = 0; t < trajectory.ids.size(); ++t) {
    if (is_response(trajectory.roles[t])) trajectory.log_probs[t] = values.at(next++).get<float>();
  }
  if (next != values.size()) throw ConfigError("{} log_probs for {} response tokens", values.size(), next);
}

Turn turn_from(const Json& json, int32_t previous_end, size_t tokens) {
  Turn turn{json.at("begin"), json.at("end"), json.at("stopped"), json.at("verdict")};
  if (turn.begin < previous_end || turn.end < turn.begin || size_t(turn.end) > tokens) {
    throw ConfigError("turn [{}, {}) does not fit the {} ids", turn.begin, turn.end, tokens);
  }
  return turn;
}

Trajectory trajectory_from(const Json& json) {
  Trajectory trajectory;
  json.at("task").get_to(trajectory.task);
  json.at("step").get_to(trajectory.step);
  json.at("sample").get_to(trajectory.sample);
  json.at("ids").get_to(trajectory.ids);
  read_roles(json.at("roles"), trajectory.roles, trajectory.ids.size());
  read_log_probs(json.at("log_probs"), trajectory);
  for (const Json& turn : json.at("turns")) {
    const int32_t previous_end = trajectory.turns.empty() ? 0 : trajectory.turns.back().end;
    trajectory.turns.push_back(turn_from(turn, previous_end, trajectory.ids.size()));
  }
  return trajectory;
}

std::vector<Trajectory> parse_trajectories(const std::string& text, const std::filesystem::path& path) {
  std::vector<Trajectory> trajectories;
  int64_t line = 0;
  for (size_t begin = 0, end; begin < text.size(); begin = end + 1) {
    end = std::min(text.find('\n', begin), text.size());
    ++line;
    try {
      trajectories.push_back(
          trajectory_from(Json::parse(text.begin() + ptrdiff_t(begin), text.begin() + ptrdiff_t(end))));
    } catch (const std::exception& error) {
      throw ConfigError("{}:{}: not a trajectory: {}", path.string(), line, error.what());
    }
  }
  return trajectories;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(size_t(written));
  }
  return true;
}

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

std::string to_bytes(const std::vector<Trajectory>& trajectories) {
  Json all = Json::array();
  for (const Trajectory& trajectory : trajectories) {
    Json json = to_json(trajectory);
    json["log_probs"] = Json::array();
    for (size_t t = 0; t < trajectory.ids.size(); ++t)
      if (is_response(trajectory.roles[t])) json["log_probs"].push_back(trajectory.log_probs[t]);
    all.push_back(std::move(json));
  }
  std::string bytes;
  Json::to_cbor(all, bytes);
  return bytes;
}

std::vector<Trajectory> trajectories_from_bytes(const std::string& bytes) {
  std::vector<Trajectory> trajectories;
  for (const Json& json : Json::from_cbor(bytes)) trajectories.push_back(trajectory_from(json));
  return trajectories;
}

void append_trajectories(const std::filesystem::path& path, const Batch& batch) {
  std::string text;
  for (const Group& group : batch.groups) {
    for (const Trajectory& trajectory : group.samples)
      text += to_json(trajectory).dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
  }
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  struct stat before;
  if (!file || ::fstat(file.get(), &before) != 0) throw system_error(fmt::format("open {}", path.string()));
  if (write_all(file.get(), text)) return;
  const WorldError error = system_error(fmt::format("write {}", path.string()));
  if (::ftruncate(file.get(), before.st_size) != 0)
    throw system_error(fmt::format("shorten {}", path.string()));
  throw error;
}

std::vector<Trajectory> read_trajectories(const std::filesystem::path& path) {
  return parse_trajectories(read_file(path), path);
}

std::vector<Trajectory> read_trajectories(const std::filesystem::path& path, bool& cut) {
  std::string text = read_file(path);
  const size_t whole = text.rfind('\n') + 1;  // 0 where there is none
  cut = whole < text.size();
  text.resize(whole);
  return parse_trajectories(text, path);
}

std::string to_text(const Trajectory& trajectory, const Tokenizer& tokenizer) {
  std::string text =
      fmt::format("=== {}, step {}, sample {}", trajectory.task, trajectory.step, trajectory.sample);
  size_t turn = 0;
  for (size_t t = 0; t < trajectory.ids.size(); ++t) {
    if (t == 0 || trajectory.roles[t] != trajectory.roles[t - 1]) {
      text += fmt::format("\n--- {}\n", kRoleNames[size_t(trajectory.roles[t])]);
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
