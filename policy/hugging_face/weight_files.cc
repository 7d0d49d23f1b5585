#include "policy/hugging_face/weight_files.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input/printable.h"
#include "policy/hugging_face/folder.h"
#include "policy/hugging_face/stored_names.h"
#include "policy/hugging_face/weight_conversion.h"
#include "policy/parameters/parameter_store.h"

namespace temper::policy {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHead = "lm_head.weight";
constexpr const char* kEmbedding = "model.embed_tokens.weight";

std::string about_quantised(const std::string& tensor, const std::string& dtype) {
  return is_of_quantised(tensor, dtype) ? fmt::format("; quantised weights are not read: {}", kUnquantised)
                                        : "";
}

void check_fits(const WeightPlace& found, const ParameterInfo& parameter) {
  const std::string where = fmt::format("{}: tensor '{}'", found.file->path().string(), parameter.name);
  if (float_type(found.place->dtype) == at::ScalarType::Undefined)
    throw ConfigError("{}: dtype {} cannot be a weight: must be F32, F64, BF16 or F16{}", where,
                      found.place->dtype, about_quantised(parameter.name, found.place->dtype));
  if (found.place->shape != parameter.shape)
    throw ConfigError("{}: shape [{}], expected [{}]", where, fmt::join(found.place->shape, ", "),
                      fmt::join(parameter.shape, ", "));
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& dir, const ModelConfig& config) {
  const WeightChoice choice = choose_weights(dir);
  open(dir, choice);
  check_size(dir, choice, config);
  const std::vector<ParameterInfo> parameters = parameters_of(config);
  std::set<std::string> known;
  for (const ParameterInfo& parameter : parameters) known.insert(parameter.name);
  if (config.tie_word_embeddings) known.insert(kHead);
  for (const auto& file : files_) add_tensors(*file, known, choice.beside);
  tied_head_ = config.tie_word_embeddings && places_.contains(kHead);
  if (choice.index) check_index(dir, *choice.index);
  check_parameters(dir, parameters);
}

void WeightFiles::open(const fs::path& dir, const WeightChoice& choice) {
  for (const std::string& name : choice.files)
    files_.push_back(std::make_unique<SafetensorsFile>(dir / name));
}

// Before parameters are listed: a config of another model may describe any number of them.
void WeightFiles::check_size(const fs::path& dir, const WeightChoice& choice,
                             const ModelConfig& config) const {
  constexpr uint64_t kLeastBytes = 2;  // size of the smallest stored parameter
  if (bytes() / kLeastBytes >= uint64_t(config.parameter_count())) return;
  for (const auto& file : files_)
    for (const auto& [name, place] : file->tensors())
      if (!is_ignored_buffer(name) && is_of_quantised(name, place.dtype))
        throw ConfigError("{}: tensor '{}': {}{}", file->path().string(), printable(name), place.dtype,
                          about_quantised(name, place.dtype));
  throw ConfigError("{}: {}, {} bytes, cannot hold the {} parameters that config.json describes",
                    dir.string(), fmt::join(choice.files, " and "), bytes(), config.parameter_count());
}

void WeightFiles::add_tensors(const SafetensorsFile& file, const std::set<std::string>& known,
                              const std::string& beside) {
  for (const auto& [name, place] : file.tensors()) {
    const bool buffer = !known.contains(name) && is_ignored_buffer(name);
    if (!buffer && !known.contains(name))
      throw ConfigError("{}: tensor '{}': is not one of this model's{}{}", file.path().string(),
                        printable(name), about_quantised(name, place.dtype),
                        beside.empty() ? "" : fmt::format("; without this file {} would be read", beside));
    if (const auto [other, added] =
            (buffer ? buffers_ : places_).try_emplace(name, WeightPlace{&file, &place});
        !added)
      throw ConfigError("{}: tensor '{}': is in {} too", file.path().string(), printable(name),
                        other->second.file->path().filename().string());
  }
}

// Buffers need not be where the index says, nor in its total: those who took them out of the files left it as it was.
void WeightFiles::check_index(const fs::path& dir, const WeightIndex& index) const {
  bool buffers_lack = false;
  for (const auto& [tensor, file] : index.files) {
    const auto found = places_.find(tensor);
    const bool there = found != places_.end() && found->second.file->path().filename() == file;
    if (is_ignored_buffer(tensor) && found == places_.end())
      buffers_lack = buffers_lack || !buffers_.contains(tensor);
    else if (!there)
      throw ConfigError("{}: tensor '{}': is missing, although model.safetensors.index.json lists it there",
                        (dir / file).string(), printable(tensor));
  }
  uint64_t bytes = 0, with_buffers = 0;
  for (const auto& [tensor, found] : places_) {
    bytes += found.place->bytes;
    if (!index.files.contains(tensor))
      throw ConfigError("{}: tensor '{}': model.safetensors.index.json does not list it",
                        found.file->path().string(), printable(tensor));
  }
  for (const auto& [tensor, found] : buffers_) with_buffers += found.place->bytes;
  with_buffers += bytes;
  const uint64_t said = index.total_size.value_or(bytes);
  if (said != bytes && said != with_buffers && !buffers_lack)
    throw ConfigError(
        "{}: metadata.total_size is {}, but the files hold {} bytes of tensors; set it right, or take it "
        "out, if the "
        "files are whole",
        (dir / "model.safetensors.index.json").string(), said, with_buffers);
}

void WeightFiles::check_parameters(const fs::path& dir, const std::vector<ParameterInfo>& parameters) const {
  std::vector<std::string> missing;
  for (const ParameterInfo& parameter : parameters) {
    const auto found = places_.find(parameter.name);
    if (found == places_.end())
      missing.push_back(parameter.name);
    else
      check_fits(found->second, parameter);
  }
  if (missing.empty()) return;
  const bool head = std::ranges::count(missing, kHead) > 0;
  throw ConfigError("{}: tensor '{}' is missing ({} in all){}", dir.string(),
                    *std::ranges::min_element(missing), missing.size(),
                    head ? "; config.json says that the head is not tied to the embedding" : "");
}

uint64_t WeightFiles::bytes() const {
  uint64_t bytes = 0;
  for (const auto& file : files_) bytes += file->bytes();
  return bytes;
}

void WeightFiles::check_tied_head() const {
  if (!tied_head_) return;
  const auto [head_file, head] = of(kHead);
  const auto [file, embedding] = of(kEmbedding);
  bool same = head->dtype == embedding->dtype && head->shape == embedding->shape;
  constexpr uint64_t kChunk = 1 << 22;
  std::vector<std::byte> a(kChunk), b(kChunk);
  for (uint64_t at = 0; same && at < head->bytes; at += kChunk) {
    const auto size = size_t(std::min(kChunk, head->bytes - at));
    head_file->read(head->begin + at, std::span(a).first(size));
    file->read(embedding->begin + at, std::span(b).first(size));
    same = std::equal(a.begin(), a.begin() + ptrdiff_t(size), b.begin());
  }
  if (!same)
    throw ConfigError(
        "{}: tensor '{}': is not the embedding, to which tie_word_embeddings in config.json ties it",
        head_file->path().string(), kHead);
}

}  // namespace temper::policy
