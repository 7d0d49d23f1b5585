#pragma once
// All answers to one task that traces are made of.

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::traces {

struct Variant {
  enum class Kind { kRight, kHabit, kSlip };
  Kind kind = Kind::kRight;
  bool fast = false;   // written the fast way
  size_t repair = 0;   // mistakes: the index of the right variant in the same style
  std::string answer;  // plan and code block
  std::string source;
  env::Verdict verdict = {};  // once judged

  // Right and passes, or a mistake and fails.
  bool usable() const { return !verdict.infra() && verdict.pass() == (kind == Kind::kRight); }
};

struct Recipe {
  std::string task;
  std::vector<Variant> variants;

  // Indices of the variants of a kind.
  std::vector<size_t> of_kind(Variant::Kind kind) const;
  std::vector<size_t> right(bool fast) const;
};

// The right ways to write the task, its habitual mistakes in the most common and the fast way, and a few slips. A
// generated task has fewer slips and, unless `all_ways` is set, fewer ways. Empty if the grammar cannot read the
// reference.
Recipe write_recipe(const env::Task& task, uint64_t seed, bool all_ways = false);

// The first of the fast ways or, at `other_rate`, any of them.
size_t fast_way(const std::vector<size_t>& fast, double other_rate, Rng& rng);

}  // namespace temper::traces
