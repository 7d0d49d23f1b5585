#include "base/input/rows/row_events.h"

#include <utility>

#include "base/error.h"
#include "base/input/printable.h"

namespace temper {
namespace {

using Json = nlohmann::json;

constexpr int kMostAround = 2;  // containers around a row

bool holds_objects(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

[[noreturn]] void throw_two_lists(const std::string& one, const std::string& other) {
  throw ConfigError("it holds rows under '{}' and under '{}'; put those to be read into a file of their own",
                    printable(one), printable(other));
}

}  // namespace

RowEvents::RowEvents(RowCursor& cursor, const JsonLimits& limits, std::set<std::string> lists, Take take)
    : JsonEvents("it", limits.depth + kMostAround),
      cursor_(cursor),
      limits_(limits),
      lists_(std::move(lists)),
      take_(std::move(take)) {}

void RowEvents::read_value() {
  if (!list_.empty())
    throw ConfigError("the object before it holds rows under '{}': must be all that the file holds",
                      printable(list_));
  level_ = 0;
  list_begins_ = in_list_ = false;
  Json::sax_parse(RowBytes(cursor_), RowBytes(), this, nlohmann::detail::input_format_t::json, false);
}

std::string RowEvents::place(size_t, const std::string& token) const {
  if (cursor_.ran_out()) return "the file ends in the middle of it";
  const std::string where = cursor_.column() == 0
                                ? fmt::format("the end of line {}", cursor_.line() - 1)
                                : fmt::format("byte {} of line {}", cursor_.column(), cursor_.line());
  return fmt::format("{}, at '{}'", where, printable(token));
}

void RowEvents::begin_row() {
  begin_ = cursor_.line();
  tree_.emplace("it", limits_.values);
  tree_->begin(false);
}

// The outermost object turns out to hold rows: what was read of it is no row.
void RowEvents::begin_list() {
  for (const auto& [name, value] : tree_->root().items())
    if (name != key_ && holds_objects(value)) throw_two_lists(name, key_);
  list_ = key_;
  level_ = 2;
  in_list_ = true;
  cursor_.begin_row();
  begin_row();
}

void RowEvents::on_key(std::string& name) {
  list_begins_ = false;
  if (depth() == 1 && level_ != 1) key_ = name;
  if (tree_) tree_->key(name);
}

void RowEvents::on_value(Json&& value) {
  list_begins_ = false;
  if (between_rows()) throw ConfigError("it is {}: must be an object", shown(value));
  if (tree_) tree_->value(std::move(value));
}

void RowEvents::on_begin(bool array) {
  const bool first_of_list = std::exchange(list_begins_, false) && !array;
  if (first_of_list && beside_list()) throw_two_lists(list_, key_);
  if (first_of_list && lists_.contains(key_)) return begin_list();
  list_begins_ = array && depth() == 1 && level_ != 1;
  if (between_rows() && depth() == 0 && array) {
    level_ = 1;
  } else if (between_rows()) {
    if (array) throw ConfigError("it is a list: must be an object");
    begin_row();
  } else if (tree_) {
    tree_->begin(array);
  }
}

void RowEvents::on_end() {
  list_begins_ = false;
  if (!tree_ && depth() == 1) in_list_ = false;
  if (!tree_) return;
  tree_->end();
  if (depth() > level_) return;
  Json row = tree_->take();
  const int64_t line = begin_;
  cursor_.begin_row();
  take_(std::move(row), line);
  tree_.reset();
}

}  // namespace temper
