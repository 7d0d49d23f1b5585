#include "trainer/app/report/report.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "trainer/app/checks.h"
#include "trainer/app/commands/commands.h"
#include "trainer/app/report/watch.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

struct ReportWords {
  std::vector<std::string> runs;
  std::string out, title;
  int64_t conversations = ReportOptions{}.conversations;
  bool watch = false;
};

std::vector<RunRecord> read_all(const std::vector<std::string>& paths) {
  std::vector<RunRecord> runs;
  std::set<fs::path> seen;
  for (const std::string& path : paths)
    for (const fs::path& dir : find_runs(path)) {
      if (!seen.insert(fs::canonical(dir)).second) throw ConfigError("{}: is named twice", dir.string());
      runs.push_back(read_run(dir));
    }
  return runs;
}

// Where the report is written: in the run or the folder of runs, or in the working directory if there are several.
fs::path place_of(const ReportWords& words) {
  if (!words.out.empty()) return words.out;
  return words.runs.size() == 1 ? fs::path(words.runs[0]) / "report.html" : fs::path("report.html");
}

std::string title_of(const ReportWords& words) {
  if (!words.title.empty()) return words.title;
  return words.runs.size() == 1
             ? fs::canonical(words.runs[0]).filename().string()
             : fmt::format("{} and {} more", fs::canonical(words.runs[0]).filename().string(),
                           words.runs.size() - 1);
}

int run_report(const ReportWords& words) {
  const std::vector<RunRecord> runs = read_all(words.runs);
  const std::string page =
      report_page(report_data(runs, {.title = title_of(words), .conversations = words.conversations}));
  const fs::path place = place_of(words);
  if (fs::is_directory(place)) throw ConfigError("--out: {} is a folder; name a file", place.string());
  write_file_atomic(place, page);
  fmt::print("{}: {} runs, {:.0f} KB\n", place.string(), runs.size(), double(page.size()) / 1000);
  return kExitOk;
}

int run_watch(const ReportWords& words) {
  if (words.runs.size() != 1) throw ConfigError("report: --watch takes one run, not {}", words.runs.size());
  return watch_run(words.runs[0]);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("report", "runs as one HTML file, or one of them live in the terminal");
  const auto words = std::make_shared<ReportWords>();
  command
      ->add_option("runs", words->runs,
                   "run directories, or folders of them; those that differ only in "
                   "run.seed become one line with its spread")
      ->transform(path_word())
      ->required();
  command->add_option("--out", words->out, "file to write; default: report.html in the run or folder")
      ->transform(path_word());
  command->add_option("--title", words->title, "heading; default: the run's or folder's name");
  command
      ->add_option("--conversations", words->conversations, "how many of the best and of the worst to show")
      ->check(at_least(0));
  command->add_flag("--watch", words->watch, "show the run in the terminal until it ends; piped: once");
  command->callback([=, &exit_code] { exit_code = words->watch ? run_watch(*words) : run_report(*words); });
}

}  // namespace temper::trainer
