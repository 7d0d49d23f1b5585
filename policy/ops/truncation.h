#pragma once
// Top-k and top-p: which tokens a distribution is cut down to before one is drawn.
//
// Of the logits of a row the least kept one, the cut, decides: a token is kept if its logit is not below it.
// So equal logits are kept or left together, as they are in transformers and vLLM for top-k, and the rule
// needs no more than one number a row. top_k: the cut is the k-th largest logit. top_p: then the largest cut
// whose tokens still hold at least top_p of the probability that top_k left.

#include <cstdint>

namespace temper::policy {

struct Truncation {
  double top_p = 1;   // 1: no limit
  int64_t top_k = 0;  // 0: no limit

  bool any() const { return top_k > 0 || top_p < 1; }
  bool operator==(const Truncation&) const = default;
};

}  // namespace temper::policy
