#pragma once
// What made a run: program, libraries, machine and command. The same facts are in `temper --version`, in run.json, in
// the first line of the metrics and in each checkpoint's manifest.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace temper::trainer {

// {"version", "commit", "compiler", "flags", "libraries": [[name, version], …]}. Touches no GPU.
nlohmann::json program_facts();

// The facts as text, one line each.
std::string program_text(const nlohmann::json& facts);

// Records the command line of this process; called by main.
void note_command(int argc, const char* const* argv);

// The program as this process was called, for commands that are proposed: "build/temper", or "temper".
std::string program_word();

// program_facts() and {"command", "directory", "host", "cores", "gpus": [name, …], "ranks"}, of this process.
nlohmann::json start_facts(int64_t ranks);

// The version of NVIDIA's kernel module, "580.82.07"; "" if it is not loaded.
std::string driver_version();

}  // namespace temper::trainer
