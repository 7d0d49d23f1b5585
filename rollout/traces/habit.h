#pragma once
// The mistakes in the traces. Most of them are habits, which are made every time a reference invites them, so that the
// most likely answer to such a task is wrong and only practice can change that. The rest are slips, each of them
// different.

#include "base/rng.h"
#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper::traces {

// The set of habitual mistakes that this program invites when it is written in this style. It may be empty.
Defects habits(const Program& program, const Style& style);

// Up to `count` different single mistakes that have a place in this program and are not habits of it.
std::vector<Defects> slips(const Program& program, const Style& style, size_t count, Rng& rng);

}  // namespace temper::traces
