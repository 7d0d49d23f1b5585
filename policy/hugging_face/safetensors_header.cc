#include "policy/hugging_face/safetensors_header.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/json_events.h"
#include "base/input/printable.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostDimensions = 32, kMostTensors = 1 << 20;

uint64_t element_bytes(const std::string& dtype) {
  static const std::map<std::string, uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
      {"F32", 4},  {"F64", 8}, {"I64", 8}, {"U64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

// One tensor's fields as they come.
struct Fields {
  std::set<std::string> seen;
  std::string dtype;
  std::vector<uint64_t> shape, offsets;
};

class HeaderEvents : public JsonEvents {
 public:
  HeaderEvents(const std::string& path, uint64_t data_begin, uint64_t data_bytes)
      : JsonEvents(path + ": header", 3), path_(path), data_begin_(data_begin), data_bytes_(data_bytes) {}

  std::map<std::string, TensorPlace> take() {
    check_end();
    return std::move(places_);
  }

 private:
  void on_key(std::string& name) override;
  void on_value(Json&& value) override;
  void on_begin(bool array) override;
  void on_end() override;
  void finish_tensor();
  void set_shape(TensorPlace& place);
  void set_range(TensorPlace& place);
  void check_end() const;
  bool in_metadata() const { return name_ == "__metadata__"; }
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) const {
    throw ConfigError("{}: tensor '{}': {}", path_, printable(name_),
                      fmt::format(text, std::forward<Args>(args)...));
  }

  const std::string& path_;
  const uint64_t data_begin_, data_bytes_;
  uint64_t end_ = 0;  // of the tensor that ends last
  std::map<std::string, TensorPlace> places_;
  std::string name_, field_;
  bool metadata_seen_ = false;
  Fields fields_;
};

void HeaderEvents::on_key(std::string& name) {
  if (depth() > 1) {
    field_ = std::move(name);
    if (fields_.seen.insert(field_).second) return;
    throw ConfigError("{}: header names '{}' twice in '{}'", path_, printable(field_), printable(name_));
  }
  name_ = std::move(name);
  fields_ = {};
  if (places_.size() == kMostTensors)
    throw ConfigError("{}: header names more than {} tensors", path_, kMostTensors);
  const bool twice = in_metadata() ? std::exchange(metadata_seen_, true) : !places_.try_emplace(name_).second;
  if (twice) throw ConfigError("{}: header names '{}' twice", path_, printable(name_));
}

void HeaderEvents::on_begin(bool array) {
  if (depth() == 0 && array) throw ConfigError("{}: header is not a JSON object", path_);
  if (depth() == 1 && array && in_metadata())
    throw ConfigError("{}: __metadata__ is a list, not an object of texts", path_);
  if (depth() == 1 && array) refuse("is a list, has no dtype");
  if (depth() < 2) return;
  if (in_metadata()) throw ConfigError("{} has metadata that is not text: '{}'", where(), printable(field_));
  if (!array || depth() > 2) refuse("{} holds more than a list of numbers", printable(field_));
}

void HeaderEvents::on_value(Json&& value) {
  if (depth() == 0) throw ConfigError("{}: header is not a JSON object", path_);
  if (depth() == 1) {
    if (in_metadata())
      throw ConfigError("{}: __metadata__ is {}, not an object of texts", path_, shown(value));
    refuse("is {}, has no dtype", shown(value));
  }
  if (in_metadata()) {
    if (!value.is_string())
      throw ConfigError("{}: __metadata__: '{}' is {}, not a text", path_, printable(field_), shown(value));
  } else if (field_ == "dtype") {
    if (depth() != 2 || !value.is_string() || element_bytes(value.get_ref<const std::string&>()) == 0)
      refuse("dtype {} is unknown", shown(value));
    fields_.dtype = std::move(value.get_ref<std::string&>());
  } else if (field_ == "shape" || field_ == "data_offsets") {
    if (depth() == 2) refuse("{} {} is not a list", field_, shown(value));
    if (!value.is_number_unsigned()) refuse("{} is not a non-negative integer", shown(value));
    std::vector<uint64_t>& list = field_ == "shape" ? fields_.shape : fields_.offsets;
    if (list.size() == kMostDimensions) refuse("{} has more than {} numbers", field_, kMostDimensions);
    list.push_back(value.get<uint64_t>());
  }
}

void HeaderEvents::on_end() {
  if (depth() == 1 && !in_metadata()) finish_tensor();
}

void HeaderEvents::finish_tensor() {
  for (const char* field : {"dtype", "shape", "data_offsets"})
    if (!fields_.seen.contains(field)) refuse("has no {}", field);
  if (fields_.dtype.empty()) refuse("dtype is a list, not a name");
  TensorPlace& place = places_.at(name_);
  place.dtype = fields_.dtype;
  set_shape(place);
  set_range(place);
}

void HeaderEvents::set_shape(TensorPlace& place) {
  place.bytes = element_bytes(place.dtype);
  for (const uint64_t n : fields_.shape) {
    place.shape.push_back(int64_t(n));
    if (n > INT64_MAX || __builtin_mul_overflow(place.bytes, n, &place.bytes) || place.bytes > INT64_MAX)
      refuse("shape [{}] overflows", fmt::join(fields_.shape, ", "));
  }
}

void HeaderEvents::set_range(TensorPlace& place) {
  if (fields_.offsets.size() != 2)
    refuse("data_offsets [{}] are not two numbers", fmt::join(fields_.offsets, ", "));
  const uint64_t begin = fields_.offsets[0], end = fields_.offsets[1];
  if (begin > end || end > uint64_t(INT64_MAX) - data_begin_)
    refuse("data_offsets [{}, {}] are no range of the data", begin, end);
  if (end - begin != place.bytes)
    refuse("{} of shape [{}] takes {} bytes, its data_offsets hold {}", place.dtype,
           fmt::join(fields_.shape, ", "), place.bytes, end - begin);
  place.begin = data_begin_ + begin;
  end_ = std::max(end_, end);
}

void HeaderEvents::check_end() const {
  if (end_ > data_bytes_)
    throw ConfigError(
        "{}: is cut short: its header describes a file of {} bytes, it has {}; fetch or write it again",
        path_, data_begin_ + end_, data_begin_ + data_bytes_);
}

void check_no_holes(const std::map<std::string, TensorPlace>& places, const std::string& path,
                    uint64_t data_begin, uint64_t data_bytes) {
  std::vector<const std::pair<const std::string, TensorPlace>*> in_order;
  for (const auto& place : places) in_order.push_back(&place);
  std::ranges::sort(in_order, {}, [](const auto* p) { return std::pair(p->second.begin, p->second.bytes); });
  uint64_t at = data_begin;
  for (const auto* p : in_order) {
    const uint64_t begin = p->second.begin;
    if (begin != at)
      throw ConfigError("{}: tensor '{}' begins at byte {}, expected {}: {}", path, printable(p->first),
                        begin - data_begin, at - data_begin,
                        begin < at ? "tensors overlap" : "a hole in the data");
    at += p->second.bytes;
  }
  if (at != data_begin + data_bytes)
    throw ConfigError("{}: tensors end at byte {} of {}", path, at - data_begin, data_bytes);
}

}  // namespace

std::map<std::string, TensorPlace> read_safetensors_header(std::string_view text, const std::string& path,
                                                           uint64_t data_begin, uint64_t data_bytes) {
  HeaderEvents events(path, data_begin, data_bytes);
  events.read(text);
  auto places = events.take();
  check_no_holes(places, path, data_begin, data_bytes);
  return places;
}

}  // namespace temper::policy
