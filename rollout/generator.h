#pragma once
// Continuous batched generation over the policy's own weights.

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/policy.h"
#include "policy/sampler.h"

namespace temper::rollout {

struct GenerationRequest {
  uint64_t id = 0;       // the caller's, of one request at a time
  uint64_t rng_key = 0;  // token n of the answer uses uniform number n of this key, nothing else
  std::vector<int32_t>
      ids;  // the whole row so far; what it has in common with kept keys is not computed again
  policy::SamplingParams sampling;
  int64_t max_new_tokens = 0;
  std::vector<int32_t> stop_ids = {};  // any of them ends the answer
  // Its keys stay for the next request of this id, until release(id) or until others need the room. They are
  // computed again then, to the same bits.
  bool keep = false;
};

struct Generation {
  uint64_t id = 0;
  std::vector<int32_t> ids;  // new ones, the stop token included
  std::vector<float> log_probs;
  bool stopped = false;
};

// The result of a request depends only on the request and the weights, and not on slots, order or neighbours, to the
// extent that Policy::extend's rows do. The prompt of requests with the same ids, such as a group's samples, is
// computed once.
class Generator {
 public:
  // Rows of at most `max_tokens`, prompt and answer together.
  Generator(policy::Policy& policy, int64_t slots, int64_t max_tokens);
  ~Generator();

  void add(GenerationRequest request);  // waits for a free slot inside
  // Prefills what waits, decodes one token of every running sequence, returns those that finished. Samples at
  // least one token where it is not idle.
  std::vector<Generation> step();
  bool idle() const;          // nothing waits or runs: nothing can be generated
  void release(uint64_t id);  // its keys are needed no more, if they are still kept
  int64_t tokens_generated() const;
  int64_t tokens_prefilled() const;  // computed, not copied

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::rollout
