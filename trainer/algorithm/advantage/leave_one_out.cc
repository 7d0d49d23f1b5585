// Source:  RLOO, 2402.14740: A_i = G_i − mean of the other G = N/(N − 1)·(G_i − mean G)
//          TRLOO, Dr. Kernel, 2602.05885: RLOO per (task, turn) over its N_t valid samples; A = G if N_t = 1
// The baseline does not contain the sample itself, so the gradient is unbiased.

#include <numeric>

#include "trainer/algorithm/advantage/estimators.h"

namespace temper::trainer {

std::vector<double> leave_one_out(std::span<const double> returns) {
  if (returns.size() == 1) return {returns[0]};
  const double total = std::accumulate(returns.begin(), returns.end(), 0.0);
  std::vector<double> advantages;
  for (double value : returns) advantages.push_back(value - (total - value) / double(returns.size() - 1));
  return advantages;
}

}  // namespace temper::trainer
