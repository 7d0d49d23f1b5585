#pragma once
// Ranks that make the calls they are told, under the watch.

#include <string>
#include <vector>

namespace temper::policy {

// A call each: sum:NAME, gather:NAME:NUMBERS, scatter:NAME:NUMBERS of each rank, text:NAME:BYTES,
// note:NAME:VALUE; and sleep:MS, throw:TEXT; device:NAME:MS, a call that a device runs for so long while the rank goes
// on, and doomed:NAME:MS, one that has two seconds; leave, which comes to the end without the comparison that ends
// the calls otherwise.
int make_calls(const std::vector<std::string>& words);

// Prints what the digest costs a call, beside the smallest all-reduce, and how fast that of weights is.
int print_cost_of_calls();

}  // namespace temper::policy
