#include "base/input/json.h"

#include "base/error.h"
#include "base/input/file.h"
#include "base/input/json_events.h"
#include "base/input/json_tree.h"
#include "base/input/printable.h"

namespace temper {
namespace {

using Json = nlohmann::json;

class Tree : public JsonEvents {
 public:
  Tree(const std::string& where, const JsonLimits& limits)
      : JsonEvents(where, limits.depth), tree_(where, limits.values) {}
  Json take() { return tree_.take(); }

 private:
  void on_key(std::string& name) override { tree_.key(name); }
  void on_value(Json&& value) override { tree_.value(std::move(value)); }
  void on_begin(bool array) override { tree_.begin(array); }
  void on_end() override { tree_.end(); }

  JsonTree tree_;
};

Json tree_of(std::string_view text, const std::string& where, const JsonLimits& limits,
             void (JsonEvents::*read)(std::string_view)) {
  if (text.size() > limits.bytes)
    throw ConfigError("{}: {} bytes, at most {} are read", where, text.size(), limits.bytes);
  Tree tree(where, limits);
  (tree.*read)(text);
  return tree.take();
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  return tree_of(text, where, limits, &JsonEvents::read);
}

Json parse_cbor(std::string_view bytes, const std::string& where, const JsonLimits& limits) {
  return tree_of(bytes, where, limits, &JsonEvents::read_cbor);
}

Json parse_json_object(std::string_view text, const std::string& where, const JsonLimits& limits) {
  Json json = parse_json(text, where, limits);
  if (!json.is_object()) throw ConfigError("{}: is not a JSON object", where);
  return json;
}

Json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse_json_object(read_input_file(path, limits.bytes), path.string(), limits);
}

std::string shown(const Json& value) {
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<int64_t> whole_number(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(INT64_MAX)) return std::nullopt;
  return value.get<int64_t>();
}

}  // namespace temper
