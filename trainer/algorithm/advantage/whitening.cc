// Source:  REINFORCE++, 2501.03262: A = (G − mean) / std over all response tokens of the batch, as the
//          published codes whiten (OpenRLHF; verl's masked_whiten): mean and variance are over tokens, the
//          variance is the sample's (N − 1), and the divisor is √(variance + 1e-8)
// A long answer counts for more than a short one, in the mean as in the loss over tokens.

#include <cmath>
#include <numeric>

#include "trainer/algorithm/advantage/estimators.h"

namespace temper::trainer {

std::vector<double> whiten(std::span<const double> values, std::span<const int64_t> counts) {
  double sum = 0, squares = 0, tokens = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i] * double(counts[i]);
    tokens += double(counts[i]);
  }
  const double mean = tokens > 0 ? sum / tokens : 0;
  for (size_t i = 0; i < values.size(); ++i) squares += double(counts[i]) * std::pow(values[i] - mean, 2);
  const double scale = tokens > 1 ? 1 / std::sqrt(squares / (tokens - 1) + 1e-8) : 1;
  std::vector<double> whitened;
  for (const double value : values) whitened.push_back((value - mean) * scale);
  return whitened;
}

}  // namespace temper::trainer
