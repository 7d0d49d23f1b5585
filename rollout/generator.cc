#include "rollout/generator.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/rng.h"

namespace temper::rollout {

using policy::Extension;

namespace {

constexpr size_t kPrefillTokens = 4096;  // most tokens per call, which bounds the activations

struct Sequence {
  GenerationRequest request;
  Generation generation;
  int64_t slot = -1;
  bool done = false;
};

// A request whose keys a slot keeps although nothing runs in it.
struct Kept {
  uint64_t id;
  int64_t slot;
};

bool starts_with(const std::vector<int32_t>& ids, const std::vector<int32_t>& prefix) {
  return ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
}

size_t common_prefix(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return size_t(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

struct Generator::Impl {
  policy::Policy& policy;
  policy::KvCache cache;
  const size_t max_tokens;
  std::set<int64_t> free_slots;
  std::vector<Kept> kept;                  // in the order in which they came to be
  std::vector<std::vector<int32_t>> held;  // by slot: the ids whose keys it holds, in use or not
  std::deque<GenerationRequest> waiting;
  std::vector<Sequence> running;
  int64_t generated = 0, prefilled = 0;

  Impl(policy::Policy& p, int64_t slots, int64_t most)
      : policy(p),
        cache(p.config(), p.options(), slots, most),
        max_tokens(size_t(most)),
        held(size_t(slots)) {
    for (int64_t slot = 0; slot < slots; ++slot) free_slots.insert(slot);
  }

  void shorten(int64_t slot, size_t length);
  std::optional<int64_t> take_kept(uint64_t id);
  int64_t take_room();
  Sequence start(GenerationRequest request, std::optional<int64_t> kept_slot);
  std::vector<Sequence> admit();
  void copy_keys(int64_t from, int64_t to, size_t length);
  void borrow_prompt(const Sequence& sequence);
  void prefill(std::vector<Sequence>& admitted);
  void sample(const std::vector<Extension>& extensions, const std::vector<std::vector<Sequence*>>& drawing,
              bool goes_on);
  bool ends_behind(const Sequence& sequence, size_t tokens) const;
  double next_uniform(const Sequence& sequence) const;
  bool will_admit() const;
  void decode();
  void take_token(Sequence& sequence, const policy::SampledToken& token);
  std::vector<Generation> collect();
};

void Generator::Impl::shorten(int64_t slot, size_t length) {
  auto& keys = held[size_t(slot)];
  if (length == keys.size()) return;
  keys.resize(length);
  cache.truncate(slot, int64_t(length));
}

std::optional<int64_t> Generator::Impl::take_kept(uint64_t id) {
  const auto one = std::ranges::find(kept, id, &Kept::id);
  if (one == kept.end()) return std::nullopt;
  const int64_t slot = one->slot;
  kept.erase(one);
  return slot;
}

// A free slot, or else the most recently kept one, because requests kept for longer will probably return sooner.
int64_t Generator::Impl::take_room() {
  if (!free_slots.empty()) return free_slots.extract(free_slots.begin()).value();
  const int64_t slot = kept.back().slot;
  kept.pop_back();
  return slot;
}

Sequence Generator::Impl::start(GenerationRequest request, std::optional<int64_t> kept_slot) {
  const int64_t slot = kept_slot ? *kept_slot : take_room();
  const auto& keys = held[size_t(slot)];
  if (kept_slot)  // a row may go on from the middle of the one before it
    shorten(slot, std::min(common_prefix(keys, request.ids), request.ids.size() - 1));
  else
    shorten(slot, starts_with(keys, request.ids) ? request.ids.size() - 1 : 0);
  Generation generation;
  generation.id = request.id;
  return {std::move(request), std::move(generation), slot};
}

bool Generator::Impl::will_admit() const {
  return !waiting.empty() && (!free_slots.empty() || !kept.empty());
}

// Admits, in order, requests whose keys are kept, and as many others as there is room for. Keys that a waiting request
// can use are therefore not evicted.
std::vector<Sequence> Generator::Impl::admit() {
  std::vector<Sequence> admitted;
  std::deque<GenerationRequest> left;
  std::vector<std::optional<int64_t>> slots;
  for (const GenerationRequest& request : waiting) slots.push_back(take_kept(request.id));
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] || !free_slots.empty() || !kept.empty())
      admitted.push_back(start(std::move(waiting[i]), slots[i]));
    else
      left.push_back(std::move(waiting[i]));
  }
  waiting = std::move(left);
  return admitted;
}

void Generator::Impl::copy_keys(int64_t from, int64_t to, size_t length) {
  cache.copy_prefix(from, to, int64_t(length));
  held[size_t(to)].assign(held[size_t(from)].begin(), held[size_t(from)].begin() + ptrdiff_t(length));
}

// Another slot may still hold the keys of this very prompt; its last token is computed again for its logits.
void Generator::Impl::borrow_prompt(const Sequence& sequence) {
  const int64_t slot = sequence.slot;
  if (!held[size_t(slot)].empty()) return;
  for (size_t other = 0; other < held.size(); ++other) {
    if (int64_t(other) == slot || !starts_with(held[other], sequence.request.ids)) continue;
    return copy_keys(int64_t(other), slot, sequence.request.ids.size() - 1);
  }
}

// Whether a sequence reaches its length limit with this many new tokens.
bool Generator::Impl::ends_behind(const Sequence& sequence, size_t tokens) const {
  return int64_t(tokens) >= sequence.request.max_new_tokens ||
         sequence.request.ids.size() + tokens >= max_tokens;
}

// The uniform number of the draw after the next one; negative if the sequence ends before it.
double Generator::Impl::next_uniform(const Sequence& sequence) const {
  const size_t drawn = sequence.generation.ids.size() + 1;
  return ends_behind(sequence, drawn) ? -1 : Rng(sequence.request.rng_key).uniform_at(drawn);
}

// Draws one token for each sequence after its extension. `goes_on` says that the next call is for the same sequences
// except those that end.
void Generator::Impl::sample(const std::vector<Extension>& extensions,
                             const std::vector<std::vector<Sequence*>>& drawing, bool goes_on) {
  std::vector<policy::Draw> draws;
  for (size_t i = 0; i < extensions.size(); ++i) {
    auto& keys = held[size_t(extensions[i].slot)];
    keys.insert(keys.end(), extensions[i].ids.begin(), extensions[i].ids.end());
    for (const Sequence* sequence : drawing[i])
      draws.push_back({int64_t(i), sequence->request.sampling,
                       Rng(sequence->request.rng_key).uniform_at(sequence->generation.ids.size()),
                       goes_on ? next_uniform(*sequence) : -1});
  }
  const std::vector<policy::SampledToken> tokens = policy.sample(cache, extensions, draws);
  auto token = tokens.begin();
  for (const auto& sequences : drawing)
    for (Sequence* sequence : sequences) take_token(*sequence, *token++);
}

// The first of several sequences with the same ids is computed; the others get its keys and its logits.
void Generator::Impl::prefill(std::vector<Sequence>& admitted) {
  std::map<std::vector<int32_t>, std::vector<Sequence*>> prompts;
  for (Sequence& sequence : admitted) prompts[sequence.request.ids].push_back(&sequence);
  for (auto next = prompts.begin(); next != prompts.end();) {
    std::vector<Extension> extensions;
    std::vector<std::vector<Sequence*>> drawing;
    for (size_t tokens = 0; next != prompts.end() && (extensions.empty() || tokens < kPrefillTokens);
         ++next) {
      const Sequence& leader = *next->second.front();
      borrow_prompt(leader);
      const std::span<const int32_t> ids = leader.request.ids;
      extensions.push_back({leader.slot, ids.subspan(held[size_t(leader.slot)].size())});
      drawing.push_back(next->second);
      tokens += extensions.back().ids.size();
    }
    for (const Extension& extension : extensions) prefilled += int64_t(extension.ids.size());
    sample(extensions, drawing, false);
    for (const auto& sequences : drawing)
      for (const Sequence* sequence : std::span(sequences).subspan(1))
        copy_keys(sequences.front()->slot, sequence->slot, sequence->request.ids.size());
  }
}

void Generator::Impl::decode() {
  std::vector<Extension> extensions;
  std::vector<std::vector<Sequence*>> drawing;
  for (Sequence& sequence : running) {
    extensions.push_back({sequence.slot, std::span(sequence.generation.ids).last(1)});
    drawing.push_back({&sequence});
  }
  if (!extensions.empty()) sample(extensions, drawing, !will_admit());
}

void Generator::Impl::take_token(Sequence& sequence, const policy::SampledToken& token) {
  auto& [request, generation, slot, done] = sequence;
  generation.ids.push_back(token.id);
  generation.log_probs.push_back(token.log_prob);
  ++generated;
  generation.stopped = std::ranges::find(request.stop_ids, token.id) != request.stop_ids.end();
  done = generation.stopped || ends_behind(sequence, generation.ids.size());
}

std::vector<Generation> Generator::Impl::collect() {
  std::vector<Generation> finished;
  for (Sequence& sequence : running) {
    if (!sequence.done) continue;
    if (sequence.request.keep)
      kept.push_back({sequence.request.id, sequence.slot});
    else
      free_slots.insert(sequence.slot);
    finished.push_back(std::move(sequence.generation));
  }
  std::erase_if(running, [](const Sequence& sequence) { return sequence.done; });
  return finished;
}

Generator::Generator(policy::Policy& policy, int64_t slots, int64_t max_tokens)
    : impl_(std::make_unique<Impl>(policy, slots, max_tokens)) {}

Generator::~Generator() = default;

void Generator::add(GenerationRequest request) {
  TEMPER_CHECK(!request.ids.empty() && request.ids.size() < impl_->max_tokens, "{} ids, at most {}",
               request.ids.size(), impl_->max_tokens - 1);
  TEMPER_CHECK(request.max_new_tokens > 0);
  impl_->waiting.push_back(std::move(request));
}

std::vector<Generation> Generator::step() {
  impl_->decode();
  std::vector<Sequence> admitted = impl_->admit();
  impl_->prefill(admitted);
  std::move(admitted.begin(), admitted.end(), std::back_inserter(impl_->running));
  return impl_->collect();
}

bool Generator::idle() const { return impl_->waiting.empty() && impl_->running.empty(); }

void Generator::release(uint64_t id) {
  if (const auto slot = impl_->take_kept(id)) impl_->free_slots.insert(*slot);
}

int64_t Generator::tokens_generated() const { return impl_->generated; }
int64_t Generator::tokens_prefilled() const { return impl_->prefilled; }

}  // namespace temper::rollout
