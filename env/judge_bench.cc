#include "env/judge_bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/process.h"

namespace temper {

JudgeBench bench_judge(Judge& judge, const std::string& task, const std::string& source, int64_t count) {
  TEMPER_CHECK(count > 0);
  JudgeBench bench;
  std::vector<double> times;
  const double start = now_s();
  for (int64_t i = 0; i < count; ++i)
    judge.submit(task, fmt::format("{}\n// variant {} of {} at {}\n", source, i, ::getpid(), start));
  while (judge.pending() > 0)
    for (const auto& [ticket, verdict] : judge.poll(std::chrono::seconds(1))) {
      times.push_back(verdict.total_ms);
      bench.passed += verdict.pass();
      bench.infra += verdict.infra();
      bench.compile_ms += verdict.compile_ms / double(count);
      bench.run_ms += verdict.run_ms / double(count);
    }
  bench.seconds = now_s() - start;
  bench.verdicts = int64_t(times.size());
  std::sort(times.begin(), times.end());
  bench.p50_ms = times[times.size() / 2];
  bench.p95_ms = times[times.size() * 95 / 100];
  return bench;
}

}  // namespace temper
