#pragma once
// Rows among the events of JSON.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/input/json.h"
#include "base/input/json_events.h"
#include "base/input/json_tree.h"
#include "base/input/rows/row_cursor.h"

namespace temper {

// Objects are rows, and so are those of an outermost list. An outermost object that has a list of objects under
// one of `lists` holds rows there, and beside it no other list of objects. `take` gets each row and the line on
// which it begins.
class RowEvents : public JsonEvents {
 public:
  using Take = std::function<void(nlohmann::json&&, int64_t line)>;
  RowEvents(RowCursor& cursor, const JsonLimits& limits, std::set<std::string> lists, Take take);

  // One outermost value, which begins where the cursor is. Errors: ConfigError for one behind an object that holds
  // rows.
  void read_value();
  // The line on which the row begins that is being read, or else the present one.
  int64_t line() const { return tree_ ? begin_ : cursor_.line(); }

 private:
  void on_key(std::string& name) override;
  void on_value(nlohmann::json&& value) override;
  void on_begin(bool array) override;
  void on_end() override;
  std::string place(size_t position, const std::string& token) const override;

  bool between_rows() const { return !tree_ && depth() == level_ && !beside_list(); }
  bool beside_list() const { return level_ == 2 && !in_list_; }
  void begin_row();
  void begin_list();

  RowCursor& cursor_;
  const JsonLimits limits_;
  const std::set<std::string> lists_;
  const Take take_;
  std::optional<JsonTree> tree_;  // of the row that is being read
  int64_t begin_ = 0;             // its line
  int level_ = 0;                 // containers around rows
  std::string key_;               // of the outermost object
  std::string list_;              // its key that holds rows
  bool in_list_ = false;
  bool list_begins_ = false;  // the last event began a list there, of rows perhaps
};

}  // namespace temper
