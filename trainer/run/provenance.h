#pragma once
// What made a run: program, libraries, machine and command. The same words stand in `temper --version`, in
// run.json, in the first line of the metrics and in each checkpoint's manifest.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace temper {

// {"version", "commit", "compiler", "flags", "libraries": [[name, version], …]}. Touches no GPU.
nlohmann::json program_facts();

// As a person reads it, a line each.
std::string program_text(const nlohmann::json& facts);

// What this process was started as; main says it.
void note_command(int argc, const char* const* argv);

// program_facts() and {"command", "directory", "host", "cores", "gpus": [name, …], "ranks"}, of this process.
nlohmann::json start_facts(int64_t ranks);

// Of NVIDIA's kernel module, "580.82.07"; "" where none is loaded.
std::string driver_version();

}  // namespace temper
