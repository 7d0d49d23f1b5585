#pragma once
#include "trainer/app/commands/commands.h"

namespace temper::trainer {

// temper bench tokenizer: how fast a folder's tokenizer encodes, on one core.
void add_bench_tokenizer(CLI::App& bench, int& exit_code);

}  // namespace temper::trainer
