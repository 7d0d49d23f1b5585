#pragma once
// What the author of the traces is like. Most of his mistakes are habits: whoever has the habit makes it each
// time the reference invites it, so that the likeliest answer to such a task is wrong and only practice can
// change that. The rest are slips, each different.

#include "base/rng.h"
#include "rollout/traces/program.h"
#include "rollout/traces/style.h"

namespace temper {

// Every habitual mistake that this program invites when written in this style; none set: it invites none.
Defects habits(const Program& program, const Style& style);

// Up to `count` different single mistakes that have a place in this program and are not habits of it.
std::vector<Defects> slips(const Program& program, const Style& style, size_t count, Rng& rng);

}  // namespace temper
