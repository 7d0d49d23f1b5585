// nvcc, taken apart. Its driver runs eight programs through a shell; `--dryrun` prints their command lines.

#include <fmt/ranges.h>

#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "env/compile/cxx_driver.h"
#include "env/compile/toolchain.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

// Names of kernels with internal linkage are made from it; nvcc's own would hang on the time of day.
constexpr const char* kModuleId = "_candidate_cu";

// What nvcc embeds in the host object. The cubin goes its own way: here is only what registers it.
constexpr const char* kNoFatbin =
    "#include \"fatbinary_section.h\"\n"
    "static const __fatBinC_Wrapper_t __fatDeviceText __attribute__((aligned(8), "
    "section(\".nvFatBinSegment\"))) = "
    "{0x466243b1, 1, 0, 0};\n";

fs::path find_nvcc() {
  std::vector<std::string> places;
  if (const char* chosen = std::getenv("CUDACXX"); chosen != nullptr && *chosen != '\0')
    places.push_back(chosen);
  places.push_back(first_line(output_of("command -v nvcc").text));
  places.push_back("/usr/local/cuda/bin/nvcc");
#ifdef TEMPER_NVCC
  places.push_back(TEMPER_NVCC);
#endif
  for (const auto& place : places)
    if (fs::is_regular_file(place)) return fs::canonical(place);
  throw WorldError(
      "no CUDA compiler: nvcc is not on PATH nor in /usr/local/cuda; install a CUDA toolkit, or run "
      "tools/bootstrap "
      "and build again, or name it with CUDACXX");
}

// "…release 13.0, V13.0.88": the line that names the version.
std::string version_of(const fs::path& nvcc) {
  std::istringstream lines(output_of(nvcc.string() + " --version").text);
  for (std::string line; std::getline(lines, line);)
    if (line.find("release") != std::string::npos) return line;
  throw WorldError("{} does not run: {}", nvcc.string(),
                   first_line(output_of(nvcc.string() + " --version").errors));
}

// Candidates are compiled against the toolkit's headers and then meet functions that were compiled against
// ours.
void check_version([[maybe_unused]] const fs::path& nvcc, [[maybe_unused]] const std::string& version) {
#ifdef TEMPER_CUDA_MAJOR
  if (version.find(fmt::format("release {}.", TEMPER_CUDA_MAJOR)) == std::string::npos)
    throw WorldError(
        "{} is of another CUDA than the {} that Temper was built with ({}); name the right one with CUDACXX",
        nvcc.string(), TEMPER_CUDA_MAJOR, version);
#endif
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// nvcc quotes the folder of a host compiler that was named by its path: "/usr/bin"/g++ -E …
std::string unquoted_program(const std::string& line) {
  const size_t end = line.find(' ');
  std::string program = line.substr(0, end);
  std::erase(program, '"');
  return end == std::string::npos ? program : program + line.substr(end);
}

// The command lines of a dry run, without "#$ ", variables put in; not its settings of variables.
std::vector<std::string> dry_run(const fs::path& nvcc, const std::string& arguments) {
  const CommandOutput said = output_of(fmt::format("cd / && {} --dryrun {}", nvcc.string(), arguments));
  std::vector<std::string> commands;
  std::string cicc_path;
  std::istringstream lines(said.errors);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#$ ")) continue;
    line = line.substr(3);
    if (line.starts_with("CICC_PATH=")) cicc_path = line.substr(10);
    const size_t equals = line.find('=');
    if (equals == std::string::npos || line.find(' ') < equals)
      commands.push_back(unquoted_program(replaced(line, "$CICC_PATH", cicc_path)));
  }
  if (said.ok && !commands.empty()) return commands;
  const std::string words = first_line(said.errors);
  if (words.find("nsupported gpu architecture") != std::string::npos)
    throw ConfigError("{}: {}; it knows {}", nvcc.string(), words,
                      replaced(output_of(nvcc.string() + " --list-gpu-code").text, "\n", " "));
  throw WorldError("{} does not work: {}", nvcc.string(), words);
}

class CudaSteps {
 public:
  CudaSteps(const fs::path& nvcc, const CxxDriver& driver, std::vector<std::string> commands)
      : nvcc_(nvcc), driver_(driver), commands_(std::move(commands)) {}

  // A program of the toolkit; the first word is its name, with a folder or without.
  Command tool(const std::string& name) const {
    Command words = split_words(command(name, ""));
    if (!words[0].starts_with('/')) words[0] = nvcc_.parent_path() / words[0];
    std::erase(words, "--gen_module_id_file");  // it is there
    return words;
  }
  // A run of the host compiler that makes the file.
  Command host(const std::string& makes) const {
    const std::string line = command(driver_.name() + " ", makes);
    return driver_.compiler(line.substr(driver_.name().size() + 1));
  }
  Command host_compiler() const {
    std::string line = command(driver_.name() + " ", "candidate.o\"").substr(driver_.name().size() + 1);
    return driver_.compiler(replaced(replaced(line, " -c ", " -S "), "candidate.o\"", "candidate.s\""));
  }

 private:
  // The one command that runs `program` and ends with `output`.
  std::string command(const std::string& program, const std::string& output) const {
    for (const auto& line : commands_) {
      const std::string first = line.substr(0, line.find(' ') + 1);
      const size_t last = line.find_last_not_of(' ') + 1;
      if (first.find(program) != std::string::npos && line.substr(0, last).ends_with(output)) return line;
    }
    throw WorldError("{} compiles in a way that Temper does not know: no {}; it was made for CUDA 13",
                     nvcc_.string(), program);
  }
  fs::path nvcc_;
  const CxxDriver& driver_;
  std::vector<std::string> commands_;
};

// The toolkit's folder, and what lies behind links in it.
std::vector<std::string> toolkit_folders(const fs::path& nvcc) {
  const fs::path root = nvcc.parent_path().parent_path();
  return root.string().starts_with("/usr/") ? std::vector<std::string>{} : std::vector{root.string()};
}

}  // namespace

std::string description(const CudaToolchain& tools) {
  return description(tools.device) + description(tools.host);
}

CudaToolchain find_cuda_toolchain(const std::vector<std::string>& flags, const std::string& entry,
                                  const std::string& architecture) {
  const CxxDriver driver;
  const fs::path nvcc = find_nvcc();
  const std::string version = version_of(nvcc);
  check_version(nvcc, version);
  const std::string virtual_one = "compute" + architecture.substr(architecture.find('_'));
  const CudaSteps steps(
      nvcc, driver,
      dry_run(nvcc,
              fmt::format("--keep --keep-dir . -ccbin {} -shared -Xcompiler -fPIC -cudart none -gencode "
                          "arch={},code={} {} -o candidate.so candidate.cu",
                          driver.name(), virtual_one, architecture, fmt::join(flags, " "))));
  CudaToolchain tools;
  for (Toolchain* half : {&tools.device, &tools.host}) {
    half->source = "candidate.cu";
    half->files = {{"candidate.module_id", kModuleId}};
    half->folders = toolkit_folders(nvcc);
  }
  tools.device.version = fmt::format("{} ({}), {}", version, architecture, driver.version());
  tools.device.cubin = "candidate.cubin";
  tools.device.ptx = "candidate.ptx";
  tools.device.stubs = kStubsFile;
  tools.device.steps = {
      {steps.host("candidate.cpp1.ii\"")},  // as device code sees it
      {steps.tool("cicc")},
      {steps.tool("ptxas")},
  };
  tools.host.files.emplace_back("candidate.fatbin.c", kNoFatbin);
  tools.host.object = kObjectFile;
  tools.host.steps = {
      {steps.host("candidate.cpp4.ii\"")},  // as host code sees it
      {steps.tool("cudafe++")},
      {steps.host_compiler()},
      {driver.assembler("candidate.s", "candidate.o")},
      {driver.linker("candidate.o", kObjectFile, entry)},
  };
  tools.plain_host = tools.host;
  return tools;
}

}  // namespace temper::env
