#include "env/plan/triton/python.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/child_process.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstall =
    "pip install torch==2.11.0 brings both; env.python=PATH or TEMPER_PYTHON chooses another Python";

// Prints one line of JSON. A version is read from its file, since importing torch takes seconds. An argument is a folder of
// wheels.
constexpr const char* kQuestion = R"(
import importlib.util, json, os, sys
sys.path[1:1] = sys.argv[1:]
def place(name):
    spec = importlib.util.find_spec(name)
    return os.path.dirname(spec.origin) if spec and spec.origin else ""
def facts(folder, file):
    found = {}
    if folder:
        text = open(os.path.join(folder, file)).read()
        if file == "version.py":
            exec(text, found)
        else:
            found["__version__"] = text.split("__version__ = ")[1].split("\n")[0].strip("\"' ")
    return found
torch, triton = place("torch"), place("triton")
of_torch = facts(torch, "version.py")
folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, torch, triton] + sys.path[1:]
folders += [os.path.dirname(sys.executable), os.path.dirname(os.path.realpath(sys.executable))]
folders += [os.path.realpath(folder) for folder in folders if folder]
print(json.dumps({"program": sys.executable, "python": sys.version.split()[0], "torch": of_torch.get("__version__", ""),
                  "cuda": of_torch.get("cuda") or "", "triton": facts(triton, "__init__.py").get("__version__", ""),
                  "jinja2": place("jinja2"),
                  "folders": sorted(folder for folder in set(folders) if os.path.isdir(folder))}))
)";

// Without the folders that lie in another of the list.
std::vector<std::string> outermost(const std::vector<std::string>& folders) {
  std::vector<std::string> kept;
  for (const std::string& folder : folders) {
    const auto holds = [&](const std::string& other) {
      return other != folder && folder.starts_with(other.ends_with('/') ? other : other + "/");
    };
    if (fs::path(folder).is_absolute() && std::ranges::none_of(folders, holds)) kept.push_back(folder);
  }
  return kept;
}

// Nothing of it is trusted less than the interpreter itself, which the user chose.
struct Answer {
  TritonPython python;
  std::string cuda, jinja, error;
};

Answer ask(const std::string& program, const std::string& wheels) {
  const std::string argument = wheels.empty() ? "" : " " + shell_word(wheels);
  const CommandOutput said =
      output_of(shell_word(program) + " -E -s -B -c " + shell_word(kQuestion) + argument);
  const size_t line = said.text.rfind('{');
  Answer answer;
  if (!said.ok || line == std::string::npos) {
    answer.error =
        fmt::format("'{}' is no Python that answers: {}", program, printable(said.text + said.errors, 200));
    return answer;
  }
  try {
    const nlohmann::json json = parse_json_object(said.text.substr(line), program);
    answer.cuda = json.at("cuda").get<std::string>();
    answer.jinja = json.at("jinja2").get<std::string>();
    answer.python = {.program = json.at("program").get<std::string>(),
                     .python = json.at("python").get<std::string>(),
                     .torch = json.at("torch").get<std::string>(),
                     .triton = json.at("triton").get<std::string>(),
                     .folders = outermost(json.at("folders").get<std::vector<std::string>>()),
                     .wheels = wheels};
  } catch (const std::exception& e) {
    answer.error = fmt::format("'{}' answers oddly: {}", program, printable(e.what(), 200));
  }
  return answer;
}

// "" or why no template can.
std::string lacks_jinja(const Answer& answer) {
  if (!answer.error.empty()) return answer.error;
  if (answer.jinja.empty()) return fmt::format("{} has no jinja2", answer.python.program);
  return std::ranges::count(answer.python.folders, "/") > 0 ? answer.python.program + " is installed in /"
                                                            : "";
}

// "" or why no candidate can run in it.
std::string lacks(const Answer& answer) {
  const TritonPython& python = answer.python;
  if (!answer.error.empty()) return answer.error;
  const std::string name =
      python.wheels.empty() ? python.program : fmt::format("{} with {}", python.program, python.wheels);
  if (python.torch.empty()) return fmt::format("{} has no torch", name);
  if (answer.cuda.empty()) return fmt::format("torch {} of {} is without CUDA", python.torch, name);
  if (python.triton.empty()) return fmt::format("{} has no triton", name);
  if (!python.triton.starts_with(std::string(kTritonVersion) + "."))
    return fmt::format("{} has triton {}; Temper knows {}", name, python.triton, kTritonVersion);
  if (std::ranges::count(python.folders, "/") > 0) return fmt::format("{} is installed in /", name);
  return "";
}

}  // namespace

std::vector<std::string> python_places(const std::string& chosen) {
  if (!chosen.empty()) return {chosen};
  if (const char* told = std::getenv("TEMPER_PYTHON"); told != nullptr && *told != '\0') return {told};
  std::vector<std::string> found;
  const fs::path own = (executable_dir() / "../.deps/venv/bin/python3").lexically_normal();
  if (fs::exists(own)) found.push_back(own.string());
  found.emplace_back("python3");
  return found;
}

std::string description(const TritonPython& python) {
  return fmt::format("Python {}, torch {}, triton {}", python.python, python.torch, python.triton);
}

std::vector<std::string> own_wheels() {
  std::vector<std::string> found;
  for (const fs::path& folder : {executable_dir() / "../../wheels", fs::path(TEMPER_INSTALL_WHEELS)})
    if (!folder.empty() && fs::exists(folder / "torch")) found.push_back(folder.lexically_normal().string());
  return found;
}

namespace {

// The first that lacks nothing. Errors: WorldError that begins with `need`.
TritonPython first_python(const std::string& chosen, const std::vector<std::string>& wheels,
                          std::string (*problem_of)(const Answer&), const std::string& need,
                          const char* advice) {
  std::vector<std::string> tries{""}, problems;
  tries.insert(tries.end(), wheels.begin(), wheels.end());
  for (const std::string& place : python_places(chosen))
    for (const std::string& folder : tries) {
      Answer answer = ask(place, folder);
      problems.push_back(problem_of(answer));
      if (problems.back().empty()) return std::move(answer.python);
    }
  throw WorldError("{}: {}; {}", need, fmt::join(problems, "; "), advice);
}

}  // namespace

TritonPython find_triton_python(const std::string& chosen, const std::vector<std::string>& wheels) {
  return first_python(
      chosen, wheels, lacks,
      fmt::format("candidates in Triton need a Python with torch and triton {}", kTritonVersion), kInstall);
}

TritonPython find_jinja_python(const std::string& chosen, const std::vector<std::string>& wheels) {
  return first_python(chosen, wheels, lacks_jinja, "chat templates need a Python with jinja2",
                      "pip install jinja2 brings it; TEMPER_PYTHON chooses another Python");
}

std::string lock_up_library() {
  const fs::path library = executable_dir() / "libtemper-lock-up.so";
  if (!fs::exists(library)) throw WorldError("{} is missing: build again", library.string());
  return library.string();
}

}  // namespace temper::env
