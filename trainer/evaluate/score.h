#pragma once
// How good a set of answers is.
//
// Source: Ouyang et al., KernelBench (2502.10517), fast_p: the share of samples that are correct and more
// than p times as fast as the baseline | surely so, by the lower end of the interval (reward.lower_end).

#include <cstdint>
#include <string>
#include <vector>

#include "rollout/context.h"
#include "rollout/trajectory.h"
#include "trainer/algorithm/reward.h"
#include "trainer/run/metrics.h"

namespace temper::trainer {

inline constexpr double kFastThresholds[] = {0, 1, 1.2, 1.5, 2};
inline constexpr size_t kFastCount = std::size(kFastThresholds);
// A right answer is lazy if its own kernels take less than this share of its device time.
inline constexpr double kLazyShare = 0.3;

// Scores over judged answers. INFRA is counted separately and enters no share and no mean. Hacks count as wrong, except
// in the raw shares. These follow the naive judge or, if it was not asked, count HACK and SUSPECT as right.
struct Score {
  int64_t samples = 0;  // without INFRA
  int64_t infra = 0, hacks = 0;
  double correct = 0;            // share
  double fast[kFastCount] = {};  // shares
  double raw_correct = 0;
  double raw_fast[kFastCount] = {};
  double reward = 0;         // mean
  double speedup = 0;        // geometric mean over the correct answers; 0 if there are none
  int64_t compiled = 0;      // whose speedup against torch.compile is known
  double fast_compiled = 0;  // share that is correct and known to be faster than torch.compile
  int64_t profiled = 0;      // correct answers with a profile; of these:
  double lazy = 0;           // share that spends less than kLazyShare of the device time in its own kernels
  double own_share = 0;      // mean share of the device time in own kernels
  double weak = 0;           // share whose problem answers without any work pass, too
};

Score score(const RewardOptions& reward, const std::vector<const env::Verdict*>& verdicts);

// The rank of an answer among others to its task: right ones first, then by reward.
rollout::Standing standing(const RewardOptions& reward, const env::Verdict& verdict);

// The first of a trajectory's best turns; INFRA only where there is nothing else. Turns: at least one.
const rollout::Turn& best_turn(const RewardOptions& reward, const rollout::Trajectory& trajectory);

// The chance that at least one of k samples is correct, where `correct` of `samples` were; k at most samples.
// Source: Chen et al., 2107.03374, equation 1: 1 − C(n − c, k) / C(n, k).
double pass_at(int64_t k, int64_t samples, int64_t correct);
// The k for which that is told: powers of two below the most samples, and the most. Rising.
std::vector<int64_t> powers_up_to(int64_t most);

// PREFIX/correct, PREFIX/fast_1.2, PREFIX/reward, PREFIX/speedup, PREFIX/raw_correct, PREFIX/hacks,
// PREFIX/infra (shares and means); PREFIX/fast_1_compiled where torch.compile's time of any is known, PREFIX/lazy and
// PREFIX/own_share where a right answer has a profile, PREFIX/weak where a problem is.
void add_metrics(const std::string& prefix, const Score& score, Metrics& metrics);
}  // namespace temper::trainer
