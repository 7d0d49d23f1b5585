#include "env/kernelbench/extensions/extension_compiler.h"

#include <algorithm>
#include <array>
#include <regex>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "env/kernelbench/module_reply.h"

namespace temper::env {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;
using std::chrono::nanoseconds;

constexpr int64_t kCacheBytes = int64_t(1) << 30;
constexpr size_t kMostUnits = 64, kMostParts = 32;
constexpr std::ptrdiff_t kMostKinds = 6;  // of headers, each of which has some 300 MB
constexpr double kPrecompile_s = 300;
constexpr const char* kLead = "#include <torch/extension.h>\n";  // compiling.py's
constexpr std::array kHeaders{"headers.h",
                              "headers.h.gch"};  // g++ looks for the second where it is to include the first

nanoseconds left(double until_s) { return nanoseconds(int64_t(std::max(0.0, until_s - now_s()) * 1e9)); }

ModuleBoxOptions without_gpu(ModuleBoxOptions options) {
  options.device = "cpu";
  options.gpu_uuid.clear();
  options.nodes.clear();
  options.huggingface.clear();
  return options;
}

const Json& member(const Json& object, const char* key, Json::value_t type) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || found->type() != type)
    throw ConfigError("an extension has no {}", key);
  return *found;
}

std::vector<Json> units_of(const Json& extension) {
  const Json& units = member(extension, "units", Json::value_t::array);
  if (units.empty() || units.size() > kMostUnits)
    throw ConfigError("an extension has {} sources", units.size());
  for (const Json& unit : units) {
    for (const char* key : {"file", "text", "name"}) member(unit, key, Json::value_t::string);
    member(unit, "cuda", Json::value_t::boolean);
    for (const Json& flag : member(unit, "flags", Json::value_t::array))
      if (!flag.is_string()) throw ConfigError("a flag is no text");
  }
  return units;
}

std::string digest_of(const Json& request) {
  return sha256(request.dump(-1, ' ', true, Json::error_handler_t::replace));
}

// The files that an answer announces. None where they do not come.
std::vector<std::string> files_of(ModuleProcess& process, const Json& answer, double until_s) {
  const auto told = answer.find("parts");
  if (told == answer.end() || !told->is_array()) return {};
  std::vector<std::string> files;
  for (const Json& parts : *told) {
    if (!parts.is_number_unsigned() || parts.get<uint64_t>() > kMostParts) return {};
    files.emplace_back();
    for (uint64_t i = 0; i < parts.get<uint64_t>(); ++i) {
      const auto part = process.receive_bytes(left(until_s));
      if (!part) return {};
      files.back() += *part;
    }
  }
  return files;
}

}  // namespace

// A request on its way. There is no box where the file was found.
struct ExtensionCompiler::Work {
  std::string digest;
  std::optional<std::string> file;
  std::unique_ptr<ModuleProcess> process;
  Json request;
};

ExtensionCompiler::Work ExtensionCompiler::work_of(Json request) {
  Work work;
  work.digest = digest_of(request);
  work.request = std::move(request);
  return work;
}

std::optional<std::vector<std::string>> header_flags(const Json& unit) {
  static const std::regex allowed(
      "-O[0-3s]|-Ofast|-std=(c|gnu)\\+\\+(17|20)|-march=native|-ffast-math|-fopenmp"),
      idle("-[DUW].*|-w|-fPIC");
  const auto file = unit.at("file").get<std::string>();
  if (!file.ends_with(".cpp") || !unit.at("text").get_ref<const std::string&>().starts_with(kLead))
    return std::nullopt;
  std::vector<std::string> flags;
  for (const auto& flag : unit.at("flags").get<std::vector<std::string>>()) {
    if (std::regex_match(flag, allowed))
      flags.push_back(flag);
    else if (!std::regex_match(flag, idle))
      return std::nullopt;
  }
  return flags;
}

ExtensionCompiler::ExtensionCompiler(ModuleBoxOptions options, const fs::path& folder)
    : options_(without_gpu(std::move(options))),
      headers_(folder.empty() ? folder : folder / "torch-headers"),
      cache_(folder.empty() ? folder : folder / "torch-objects", kCacheBytes) {
  std::error_code error;
  if (!headers_.empty()) fs::create_directories(headers_, error);
  if (error) throw WorldError("cannot make {}: {}", headers_.string(), error.message());
}

std::unique_ptr<ModuleProcess> ExtensionCompiler::box(const std::string& headers) const {
  ModuleBoxOptions options = options_;
  if (!headers.empty()) options.python.folders.push_back(headers);
  return std::make_unique<ModuleProcess>(
      options, ModuleProgram{.program = "compile_main.py", .arguments = {}, .descriptors = {}});
}

std::string ExtensionCompiler::headers_for(const Json& unit, const ExtensionTools& with) {
  const auto flags = headers_.empty() ? std::nullopt : header_flags(unit);
  if (!flags) return "";
  const Json request{{"op", "precompile"}, {"flags", *flags}, {"tools", with.tools}};
  const std::string kind = digest_of(request);
  if (fs::exists(headers_ / kind)) return (headers_ / kind).string();
  asked_.emplace(kind, request);
  return "";
}

// Looked for, and on its way where it is not there.
void ExtensionCompiler::begin(Work& work, const ExtensionTools& with) {
  work.file = cache_.find(work.digest);
  if (work.file) return;
  const std::string headers = headers_for(work.request.at("unit"), with);
  work.request["headers"] = headers;
  work.process = box(headers);
}

ExtensionMade ExtensionCompiler::finish(Work& work, double until_s) {
  if (work.file) {
    ++found_;
    return {.library = std::move(work.file), .failure = nullptr};
  }
  const ModuleFrame frame = work.process->receive(left(until_s));
  ExtensionMade result{.library = std::nullopt, .failure = nullptr, .late = frame.end == "timeout"};
  if (!frame.json) return result;
  if (status_in(*frame.json) == "ok") {
    auto files = files_of(*work.process, *frame.json, until_s);
    if (files.size() == 1) result.library = std::move(files.front());
  } else {
    result.failure = *frame.json;
  }
  work.process->kill();
  if (result.library) {
    ++made_;
    cache_.keep(work.digest, *result.library);
  }
  return result;
}

ExtensionMade ExtensionCompiler::make(const Json& extension, const ExtensionTools& with, double until_s) {
  const std::vector<Json> units = units_of(extension);
  const std::string refused = extension.value("refused", "");
  Json link{{"op", "link"},
            {"tools", with.tools},
            {"libraries", member(extension, "libraries", Json::value_t::array)},
            {"cuda", units.front().at("cuda")}};
  std::vector<Work> works;
  Json of_objects = link;
  for (const Json& unit : units) {
    works.push_back(work_of(
        {{"op", "object"}, {"unit", unit}, {"architecture", with.architecture}, {"tools", with.tools}}));
    of_objects["objects"].push_back(works.back().digest);
  }
  Work whole = work_of(std::move(of_objects));
  whole.file = cache_.find(whole.digest);
  if (whole.file) return finish(whole, until_s);

  for (Work& work : works) begin(work, with);
  for (Work& work : works) {
    if (!work.process) continue;
    work.request["refused"] = refused;
    work.process->wait_ready();
    work.process->send(work.request);
  }
  std::vector<std::string> objects;
  for (Work& work : works) {
    ExtensionMade made = finish(work, until_s);
    if (!made.library) return made;
    objects.push_back(std::move(*made.library));
  }
  whole.process = box("");
  whole.process->wait_ready();
  for (size_t i = 0; i < objects.size(); ++i) {
    const std::string name = fmt::format("{}.o", i);
    whole.process->put_file(name, objects[i]);
    link["objects"].push_back(name);
  }
  link["refused"] = refused;
  whole.process->send(link);
  return finish(whole, until_s);
}

// Whole folders appear under their name; the one they are made in also says that somebody does.
void ExtensionCompiler::prepare() {
  for (const auto& [kind, request] : std::exchange(asked_, {})) {
    const fs::path place = headers_ / kind, made = place.string() + ".made";
    const auto kinds = std::distance(fs::directory_iterator(headers_), fs::directory_iterator());
    if (kinds >= kMostKinds || fs::exists(place) || !fs::create_directory(made)) continue;
    precompile(request, made);
    fs::rename(made, place);
  }
}

void ExtensionCompiler::precompile(const Json& request, const fs::path& folder) const {
  const double until_s = now_s() + kPrecompile_s;
  const auto process = box("");
  process->wait_ready();
  const ModuleFrame frame = process->ask(request, left(until_s));
  const bool done = frame.json && status_in(*frame.json) == "ok";
  const auto files = done ? files_of(*process, *frame.json, until_s) : std::vector<std::string>{};
  if (files.size() != kHeaders.size())
    throw WorldError("torch's headers cannot be precompiled: {}",
                     frame.json ? frame.json->value("message", "") : frame.end);
  // The compiler of a box has another user.
  constexpr auto kRead = fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read;
  for (size_t i = 0; i < files.size(); ++i) {
    write_file(folder / kHeaders[i], files[i]);
    fs::permissions(folder / kHeaders[i], kRead);
  }
  fs::permissions(folder, kRead | fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
}

}  // namespace temper::env
