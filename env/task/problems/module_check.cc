#include "env/task/problems/module_check.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/child_process.h"
#include "base/process.h"
#include "base/progress.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

constexpr size_t kBatch = 2000;           // sources that a process is given
constexpr size_t kMostProcesses = 8;      // at a time
constexpr double kBatchPatience_s = 120;  // a batch takes a second
constexpr double kSilent_s = 2;           // before progress is shown
constexpr double kLook_s = 0.02;
constexpr JsonLimits kAnswerLimits{.bytes = 64 << 20, .depth = 6, .values = 1'000'000};

// Arguments: folders of wheels. In: a JSON list of sources. Out: {"torch": …, "needs": [{…}]}.
constexpr const char* kProgram = R"PYTHON(
import sys
sys.path[:] = [folder for folder in sys.path if folder not in ("", ".")]
sys.path[1:1] = sys.argv[1:]
import ast, importlib.util, json, re, warnings
warnings.simplefilter("ignore")
sys.setrecursionlimit(5000)
IMPORT = re.compile(r"^\s*(?:import|from)\s+(?!torch\b|math\b|typing\b)", re.MULTILINE)
HUB = ("from_pretrained", "hf_hub_download", "snapshot_download", "load_dataset")

def is_there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return True
torch = is_there("torch")
there = {}

def packages(tree):
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (one.name.split(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.split(".")[0]

def plain(node, texts):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return texts.get(node.id) if isinstance(node, ast.Name) else None

def models(tree):
    texts = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.update((one.id, node.value.value) for one in node.targets if isinstance(one, ast.Name))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and getattr(node.func, "attr", getattr(node.func, "id", "")) in HUB:
            yield plain(node.args[0], texts)

def needs(source):
    found = {}
    try:
        compile(source, "problem.py", "exec", dont_inherit=True)
        if not IMPORT.search(source) and not any(word in source for word in HUB):
            return found
        tree = ast.parse(source)
        for name in packages(tree):
            if name not in there:
                there[name] = is_there(name)
        if torch:
            found["missing"] = sorted({name for name in packages(tree) if not there[name]})
        if any(word in source for word in HUB):
            named = list(models(tree))
            found["hub"] = bool(named)
            found["models"] = sorted({name for name in named if name})
    except SyntaxError as error:
        found = {"syntax": f"line {error.lineno}: {error.msg}"}
    except Exception as error:
        found = {"syntax": f"{type(error).__name__}: {error}"}
    return found

print(json.dumps({"torch": torch, "needs": [needs(one) for one in json.load(sys.stdin)]}))
)PYTHON";

Fd memory_file(const std::string& content) {
  Fd file(::memfd_create("sources", MFD_CLOEXEC));
  if (!file) throw system_error("create a file in memory");
  for (size_t done = 0; done < content.size();) {
    const ssize_t n = ::write(file.get(), content.data() + done, content.size() - done);
    if (n < 0 && errno != EINTR) throw system_error("write a file in memory");
    if (n > 0) done += size_t(n);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string content_of(int fd) {
  std::string text(size_t(std::max<off_t>(::lseek(fd, 0, SEEK_END), 0)), '\0');
  size_t done = 0;
  for (ssize_t n = 1; done < text.size() && n > 0; done += size_t(std::max<ssize_t>(n, 0)))
    n = ::pread(fd, text.data() + done, text.size() - done, off_t(done));
  return text.substr(0, done);
}

// A process that looks at sources [begin, end).
struct Batch {
  size_t begin, end;
  Fd in, out;
  ChildProcess process;
  double started_s = now_s();

  Batch(const std::vector<std::string>& sources, size_t from, size_t to, const std::string& python,
        const std::vector<std::string>& wheels)
      : begin(from), end(to) {
    const Json list(std::vector<std::string>(sources.begin() + std::ptrdiff_t(from),
                                             sources.begin() + std::ptrdiff_t(to)));
    in = memory_file(list.dump(-1, ' ', true, Json::error_handler_t::replace));
    out = memory_file("");
    std::vector<std::string> argv{"/usr/bin/env", python, "-E", "-s", "-B", "-c", kProgram};
    argv.insert(argv.end(), wheels.begin(), wheels.end());
    process = ChildProcess::start(
        {.argv = std::move(argv), .input = in.get(), .output = out.get(), .errors = kNullDevice});
  }

  // What it says, once it has ended; null if it says nothing.
  std::optional<Json> answer() {
    const auto status = process.wait(kLook_s);
    if (!status && now_s() - started_s < kBatchPatience_s) return std::nullopt;
    process.kill();
    if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return Json();
    try {
      Json json = parse_json_object(content_of(out.get()), "the check of sources", kAnswerLimits);
      return json.at("needs").size() == end - begin ? json : Json();
    } catch (const std::exception&) {
      return Json();
    }
  }
};

SourceNeeds needs_of(const Json& json) {
  SourceNeeds needs{.syntax = printable(json.value("syntax", ""), 200)};
  for (const Json& name : json.value("missing", Json::array()))
    needs.missing.push_back(printable(name.get<std::string>()));
  needs.hub = json.value("hub", false);
  for (const Json& name : json.value("models", Json::array()))
    needs.models.push_back(name.get<std::string>());
  return needs;
}

// Nothing is known of a batch whose process fails.
void look_at(const std::vector<std::string>& sources, const std::string& python,
             const std::vector<std::string>& wheels, std::vector<SourceNeeds>& needs) {
  const size_t most = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostProcesses);
  const double began_s = now_s();
  std::vector<std::unique_ptr<Batch>> running;
  std::optional<Progress> progress;
  size_t next = 0, done = 0;
  while (next < sources.size() || !running.empty()) {
    if (interrupted()) throw WorldError("interrupted while the problems were looked at");
    for (; running.size() < most && next < sources.size(); next = std::min(next + kBatch, sources.size()))
      running.push_back(
          std::make_unique<Batch>(sources, next, std::min(next + kBatch, sources.size()), python, wheels));
    std::erase_if(running, [&](const std::unique_ptr<Batch>& batch) {
      const auto answer = batch->answer();
      if (!answer) return false;
      done += batch->end - batch->begin;
      if (!answer->is_null())
        for (size_t i = batch->begin; i < batch->end; ++i)
          needs[i] = needs_of(answer->at("needs").at(i - batch->begin));
      return true;
    });
    if (!progress && now_s() - began_s > kSilent_s) progress.emplace("problems", int64_t(sources.size()));
    if (progress) progress->set(int64_t(done));
  }
  if (progress) progress->finish(false);
}

// The interpreter that is asked, or "".
std::string choose(const std::vector<std::string>& pythons, const std::vector<std::string>& wheels) {
  std::string answers;
  for (const std::string& python : pythons) {
    Batch batch({""}, 0, 1, python, wheels);
    std::optional<Json> said;
    while (!(said = batch.answer())) continue;
    if (said->is_null()) continue;
    if (said->value("torch", false)) return python;
    if (answers.empty()) answers = python;
  }
  return answers;
}

}  // namespace

SourceCheck check_sources(const std::vector<std::string>& sources, const std::vector<std::string>& pythons,
                          const std::vector<std::string>& wheels) {
  SourceCheck check{.python = choose(pythons, wheels), .needs = {}};
  if (check.python.empty()) return check;
  check.needs.resize(sources.size());
  look_at(sources, check.python, wheels, check.needs);
  return check;
}

}  // namespace temper::env
