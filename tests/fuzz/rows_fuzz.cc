// Rows of JSON in any form. What is read, written as JSON lines, reads back as the same.

#include "base/input/rows/rows.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper {

FUZZ_TARGET(rows) {
  static fuzz::ScratchFile file("data"), again("again.jsonl");
  // What stands in one row as the rows of a file would not, alone in a file.
  const RowOptions options{.whole = kRowLists, .limits = {.bytes = 1 << 16}};
  std::string lines, more;
  const auto write_to = [](std::string& text) {
    return [&text](InputRow&& row) {
      fields_of(row.json);
      field_at(row.json, "a.0.b");
      text += row.json.dump() + "\n";
      return true;
    };
  };
  if (!fuzz::taken([&] { read_rows(file.holding(bytes), {.limits = options.limits}, write_to(lines)); }))
    return;
  // A number of many digits may take more bytes when it is written than it had.
  if (fuzz::taken([&] { read_rows(again.holding(lines), {.whole = kRowLists}, write_to(more)); }))
    TEMPER_CHECK(lines == more);
}

}  // namespace temper
