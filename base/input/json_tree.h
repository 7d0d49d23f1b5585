#pragma once
// A tree of JSON that grows event by event, for readers of base/input/json_events.h.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper {

class JsonTree {
 public:
  // `where` begins every error; the tree may hold so many values.
  JsonTree(std::string where, int64_t most_values) : where_(std::move(where)), left_(most_values) {}

  void key(std::string& name) {
    auto& object = open_.back()->get_ref<nlohmann::json::object_t&>();
    const auto [place, fresh] = object.try_emplace(std::move(name));
    if (!fresh) throw ConfigError("{}: names '{}' twice in one object", where_, printable(place->first));
    named_ = &place->second;
  }
  void value(nlohmann::json&& value) { *next() = std::move(value); }
  void begin(bool array) {
    open_.push_back(next());
    *open_.back() = array ? nlohmann::json::array() : nlohmann::json::object();
  }
  void end() { open_.pop_back(); }
  const nlohmann::json& root() const { return root_; }
  nlohmann::json take() { return std::move(root_); }

 private:
  // Where what comes next belongs. No container grows while one inside it is open.
  nlohmann::json* next() {
    if (--left_ < 0) throw ConfigError("{}: holds more values than any such file has", where_);
    if (open_.empty()) return &root_;
    if (open_.back()->is_object()) return named_;
    return &open_.back()->emplace_back();
  }

  std::string where_;
  int64_t left_;
  nlohmann::json root_;
  nlohmann::json* named_ = nullptr;
  std::vector<nlohmann::json*> open_;
};

}  // namespace temper
