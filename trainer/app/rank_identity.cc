#include "trainer/app/rank_identity.h"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "trainer/config/config.h"

extern char** environ;  // NOLINT

namespace temper::trainer {
namespace {

// Those that change what is computed or how ranks talk; not those that differ by design, nor secrets, which
// are compared without being told.
bool matters(const std::string& name) {
  if (name.starts_with("TEMPER_SECRET")) return false;
  for (const char* own : {"TEMPER_RANK", "TEMPER_LOCAL_RANK", "TEMPER_FAULT", "CUDA_VISIBLE_DEVICES",
                          "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA"})
    if (name == own) return false;
  for (const char* prefix : {"TEMPER_", "NCCL_", "CUDA_", "CUBLAS", "CUDNN", "OMP_", "MKL_", "TORCH_"})
    if (name.starts_with(prefix)) return true;
  return false;
}

// What computes and what ranks talk over, by name and size: two versions can differ in the last bit of a sum.
void add_libraries(RankIdentity& identity) {
  std::map<std::string, std::string> found;
  const auto add = [](dl_phdr_info* info, size_t, void* to) {
    const std::filesystem::path path = info->dlpi_name;
    const std::string name = path.filename().string();
    std::error_code error;
    for (const char* prefix :
         {"libtorch", "libc10", "libtemper", "libnccl", "libcublas", "libcudart", "libcudnn"})
      if (name.starts_with(prefix))
        if (const uintmax_t bytes = std::filesystem::file_size(path, error); !error)
          (*static_cast<std::map<std::string, std::string>*>(to))[name] = fmt::format("{} bytes", bytes);
    return 0;
  };
  ::dl_iterate_phdr(add, &found);
  for (const auto& [name, size] : found) identity.emplace_back("the library " + name, size);
}

void add_environment(RankIdentity& identity) {
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos && matters(text.substr(0, equals)))
      identity.emplace_back("the environment variable " + text.substr(0, equals), text.substr(equals + 1));
  }
}

// One entry per option: "option cold_start.optimizer.lr".
void add_config(const RunConfig& config, RankIdentity& identity) {
  for (const auto& [key, value] : to_map(config)) identity.emplace_back("option " + key, value);
  for (const rollout::OwnWords& own : rollout::own_words(config.rollout.context.prompt))
    identity.emplace_back("the text of option rollout.prompt." + own.option, sha256(own.text).substr(0, 16));
}

// Names, sizes and, of what is small, contents of the files at `path`; "" if there is nothing.
std::string fingerprint(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  constexpr uintmax_t kSmall = 16 << 20;
  std::map<std::string, std::string> files;
  const auto add = [&](const fs::path& file) {
    files[fs::relative(file, path).string()] = fmt::format(
        "{} {}", fs::file_size(file), fs::file_size(file) < kSmall ? sha256(read_file(file)) : "");
  };
  if (fs::is_regular_file(path)) add(path);
  if (fs::is_directory(path))
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) add(entry.path());
  return files.empty() ? "" : sha256(nlohmann::json(files).dump()).substr(0, 16);
}

std::string value_of(const RankIdentity& identity, const std::string& what) {
  const auto found = std::ranges::find(identity, what, &RankIdentity::value_type::first);
  return found == identity.end() ? "" : found->second;
}

}  // namespace

RankIdentity identity_of(const RunConfig& config) {
  RankIdentity identity = {{"the program", sha256(read_file("/proc/self/exe")).substr(0, 16)}};
  add_libraries(identity);
  add_config(config, identity);
  identity.emplace_back("the files of tasks.path", fingerprint(config.tasks.place()));
  if (!config.model.path.empty())
    identity.emplace_back("the files of model.path", fingerprint(config.model.path));
  add_environment(identity);
  return identity;
}

std::optional<Difference> find_difference(const RankIdentity& first, const RankIdentity& other) {
  for (const RankIdentity* side : {&first, &other})
    for (const auto& [what, ignored] : *side)
      if (value_of(first, what) != value_of(other, what))
        return Difference{what, value_of(first, what), value_of(other, what)};
  return std::nullopt;
}

}  // namespace temper::trainer
