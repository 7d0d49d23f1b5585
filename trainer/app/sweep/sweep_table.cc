#include "trainer/app/sweep/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input/wrapped.h"
#include "trainer/app/report/held_out.h"

namespace temper::trainer {
namespace {

using Row = std::vector<std::string>;

std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < rows[r].size(); ++i)
      text += fmt::format("| {}{} ", rows[r][i], std::string(widths[i] - columns_of(rows[r][i]), ' '));
    text += "|\n";
    if (r > 0) continue;
    for (const size_t width : widths) text += fmt::format("|{:-<{}}", "", width + 2);
    text += "|\n";
  }
  return text;
}

std::vector<std::string> variants_of(const std::vector<CellResult>& cells) {
  std::vector<std::string> variants;
  for (const CellResult& cell : cells)
    if (std::ranges::count(variants, cell.variant) == 0) variants.push_back(cell.variant);
  return variants;
}

RunGroup finished_of(const std::string& variant, const std::vector<CellResult>& cells,
                     const std::vector<const RunRecord*>& runs) {
  RunGroup group{variant, {}};
  for (size_t i = 0; i < cells.size(); ++i)
    if (cells[i].variant == variant && cells[i].state == "finished" && runs[i]) group.runs.push_back(runs[i]);
  return group;
}

// Whether a share of held-out answers is above 0 at the end of any run.
bool any_has(const std::vector<const RunRecord*>& runs, const std::string& figure) {
  return std::ranges::any_of(runs, [&](const RunRecord* run) {
    if (!run) return false;
    const Metrics after = run->evaluation(true);
    const auto found = after.find("val/sampled/" + figure);
    return found != after.end() && found->second > 0;
  });
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string doubled;
  for (const char c : text) doubled += c == '"' ? "\"\"" : std::string(1, c);
  return "\"" + doubled + "\"";
}

std::string csv_value(const Metrics& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? "" : fmt::format("{}", found->second);
}

}  // namespace

std::string sweep_table(const std::vector<CellResult>& cells, const std::vector<const RunRecord*>& runs) {
  TEMPER_CHECK_EQ(cells.size(), runs.size());
  std::vector<std::string> figures = {"correct", "fast_1", "reward"};
  if (any_has(runs, "lazy")) figures.insert(figures.end(), {"fast_1.2", "lazy"});
  if (any_has(runs, "hacks")) figures.insert(figures.end(), {"hacks", "raw_correct", "raw_fast_1"});
  std::vector<Row> rows = {{"cell", "seeds"}};
  rows[0].insert(rows[0].end(), figures.begin(), figures.end());
  for (const std::string& variant : variants_of(cells)) {
    const RunGroup group = finished_of(variant, cells, runs);
    const auto all = std::ranges::count(cells, variant, &CellResult::variant);
    const auto done = std::ssize(group.runs);
    Row row = {variant, done == all ? fmt::format("{}", all) : fmt::format("{} of {}", done, all)};
    for (const std::string& figure : figures)
      row.push_back(before_after_text(before_after(group, "val/sampled", figure), figure != "reward"));
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

std::string sweep_csv(const std::vector<CellResult>& cells, const std::vector<const RunRecord*>& runs) {
  TEMPER_CHECK_EQ(cells.size(), runs.size());
  std::set<std::string> names;
  for (const RunRecord* run : runs)
    if (run)
      for (const auto& [metric, series] : run->series)
        if (metric.starts_with("val/")) names.insert(metric);
  std::string text = "cell,variant,seed,state,seconds,steps";
  for (const std::string& name : names) text += fmt::format(",before {0},after {0}", name);
  text += "\n";
  for (size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = cells[i];
    text += fmt::format("{},{},{},{},{:.1f},{}", quoted(cell.name), quoted(cell.variant), cell.seed,
                        cell.state, cell.seconds, runs[i] ? runs[i]->steps_done() : 0);
    const Metrics before = runs[i] ? runs[i]->evaluation(false) : Metrics();
    const Metrics after = runs[i] ? runs[i]->evaluation(true) : Metrics();
    for (const std::string& name : names)
      text += fmt::format(",{},{}", csv_value(before, name), csv_value(after, name));
    text += "\n";
  }
  return text;
}

std::string failures_text(const std::vector<CellResult>& cells) {
  std::string text;
  for (const CellResult& cell : cells)
    if (cell.state == "failed")
      text += fmt::format("{} failed:\n    {}\n", cell.name, fmt::join(cell.last_words, "\n    "));
  return text;
}

}  // namespace temper::trainer
