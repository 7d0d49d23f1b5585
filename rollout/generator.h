#pragma once
// Continuous batched generation over the policy's own weights.

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/policy.h"
#include "policy/sampler.h"

namespace temper {

struct GenerationRequest {
  uint64_t id = 0;       // the caller's
  uint64_t rng_key = 0;  // token n of the answer uses uniform number n of this key, nothing else
  std::vector<int32_t>
      ids;  // the whole row so far; what it has in common with a kept slot is not computed again
  SamplingParams sampling;
  int64_t max_new_tokens = 0;
  std::vector<int32_t> stop_ids = {};  // any of them ends the answer
  int64_t slot = -1;                   // a slot kept from an earlier turn, or -1
  bool keep_slot = false;              // leave the keys in place for the next turn; release() gives them back
};

struct Generation {
  uint64_t id = 0;
  std::vector<int32_t> ids;  // new ones, the stop token included
  std::vector<float> log_probs;
  bool stopped = false;
  int64_t slot = -1;  // where its keys are, if kept
};

// What comes out for a request depends on the request and the weights alone, as far as Policy::extend's rows
// do: not on slots, order or neighbours. Requests of the same ids, a group's samples, have their prompt
// computed once.
class Generator {
 public:
  // Rows of at most `max_tokens`, prompt and answer together.
  Generator(Policy& policy, int64_t slots, int64_t max_tokens);
  ~Generator();

  void add(GenerationRequest request);  // waits for a free slot inside
  // Prefills what waits, decodes one token of every running sequence, returns those that finished.
  std::vector<Generation> step();
  bool idle() const;  // nothing waits or runs
  void release(int64_t slot);
  int64_t tokens_generated() const;
  int64_t tokens_prefilled() const;  // computed, not copied

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper
