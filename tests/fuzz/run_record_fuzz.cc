// What a run left behind: its config.yaml and, behind the first line of zeros, its metrics.

#include <filesystem>

#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"
#include "trainer/app/report/run_record.h"

namespace temper::trainer {

FUZZ_TARGET(run_record) {
  static const std::filesystem::path folder = [] {
    const std::filesystem::path made = fmt::format("/dev/shm/temper_fuzz_{}_run", ::getpid());
    std::filesystem::create_directories(made);
    return made;
  }();
  constexpr std::string_view kParts = "\n000\n";
  const size_t half = std::min(bytes.find(kParts), bytes.size());
  std::ofstream(folder / "config.yaml", std::ios::binary) << bytes.substr(0, half);
  std::ofstream(folder / "metrics.jsonl", std::ios::binary)
      << bytes.substr(std::min(half + kParts.size(), bytes.size()));
  fuzz::taken([&] {
    const RunRecord run = read_run(folder);
    run.evaluation(true);
    run.steps_done();
  });
}

}  // namespace temper::trainer
