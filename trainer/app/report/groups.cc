#include "trainer/app/report/groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace temper::trainer {
namespace {

constexpr size_t kLabelKeys = 3;  // more of them are no label but a table

bool sets_apart(const std::string& key) {
  static const std::set<std::string> place = {"run.seed",    "run.name",  "run.dir",  "run.overwrite",
                                              "run.threads", "env.lanes", "env.cache"};
  return !place.contains(key) && !key.starts_with("ranks.") && !key.starts_with("checkpoint.");
}

// "runs/x/start-seed3" of the run with seed 3 is what "runs/x/start-seed1" is of the one with seed 1.
std::string without_seed(std::string value, const std::string& seed) {
  const std::string named = "seed" + seed;
  for (size_t at = value.find(named); at != std::string::npos; at = value.find(named, at + 5))
    if (at + named.size() == value.size() ||
        !std::isdigit(static_cast<unsigned char>(value[at + named.size()])))
      value.replace(at, named.size(), "seed*");
  return value;
}

std::map<std::string, std::string> identity(const RunRecord& run) {
  std::map<std::string, std::string> kept;
  for (const auto& [key, value] : run.options)
    if (sets_apart(key)) kept[key] = without_seed(value, run.option("run.seed"));
  return kept;
}

// The key's last part, or all of it where another differing key ends like it.
std::string short_key(const std::string& key, const std::vector<GroupDifference>& all) {
  const auto leaf = [](const std::string& k) { return k.substr(k.rfind('.') + 1); };
  const auto same = std::ranges::count(all, leaf(key), [&](const GroupDifference& d) { return leaf(d.key); });
  return same > 1 ? key : leaf(key);
}

std::string label_of(size_t group, const std::vector<GroupDifference>& all) {
  if (all.size() == 1 && all[0].key.ends_with(".name")) return all[0].values[group];
  std::vector<std::string> parts;
  for (const GroupDifference& d : all)
    parts.push_back(
        fmt::format("{} {}", short_key(d.key, all), d.values[group].empty() ? "–" : d.values[group]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What the names of seeds have in common: "trloo" of trloo-seed1 and trloo-seed2, "quickstart" of
// quickstart-2.
std::string common_name(const std::vector<const RunRecord*>& runs) {
  std::string name = runs[0]->name;
  for (const RunRecord* run : runs)
    name.resize(size_t(std::ranges::mismatch(name, run->name).in1 - name.begin()));
  if (runs.size() > 1) {
    const auto trim = [&] { name.resize(name.find_last_not_of("-_. ") + 1); };
    trim();
    if (name.ends_with("seed")) name.resize(name.size() - 4);
    trim();
  }
  return name.empty() ? runs[0]->name : name;
}

// Cells of a sweep have names that say what they vary.
bool is_named_for_its_seed(const RunRecord& run) {
  return run.name.ends_with("seed" + run.option("run.seed"));
}

}  // namespace

std::vector<RunGroup> group_runs(const std::vector<RunRecord>& runs) {
  std::vector<RunGroup> groups;
  std::vector<std::map<std::string, std::string>> identities;
  for (const RunRecord& run : runs) {
    const auto mine = identity(run);
    const auto found = std::ranges::find(identities, mine);
    if (found == identities.end()) {
      identities.push_back(mine);
      groups.push_back({"", {&run}});
    } else {
      groups[size_t(found - identities.begin())].runs.push_back(&run);
    }
  }
  const auto all = differences(groups);
  const bool by_name =
      all.empty() || all.size() > kLabelKeys || std::ranges::all_of(runs, is_named_for_its_seed);
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i].label = by_name ? common_name(groups[i].runs) : label_of(i, all);
  for (RunGroup& group : groups)
    if (std::ranges::count(groups, group.label, &RunGroup::label) > 1)
      group.label = group.runs[0]->dir.string();
  return groups;
}

std::vector<GroupDifference> differences(const std::vector<RunGroup>& groups) {
  std::vector<std::map<std::string, std::string>> identities;
  std::set<std::string> keys;
  for (const RunGroup& group : groups) {
    identities.push_back(identity(*group.runs[0]));
    for (const auto& [key, value] : identities.back()) keys.insert(key);
  }
  std::vector<GroupDifference> all;
  for (const std::string& key : keys) {
    GroupDifference difference{key, {}};
    for (auto& mine : identities) difference.values.push_back(mine.contains(key) ? mine.at(key) : "");
    if (std::ranges::adjacent_find(difference.values, std::not_equal_to()) != difference.values.end())
      all.push_back(std::move(difference));
  }
  return all;
}

}  // namespace temper::trainer
