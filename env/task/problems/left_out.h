#pragma once
// Rows that are left out of a set of problems, counted by reason.

#include <cstdint>
#include <string>
#include <vector>

namespace temper::env {

class LeftOut {
 public:
  // `reason` follows a number: "without a source". `first` is told of the first such row: "data.jsonl:3, field code".
  void add(const std::string& reason, const std::string& first);
  int64_t count() const;
  // "left out: 3 of 40 rows: 2 without a source (the first: data.jsonl:3, field code), 1 …"; empty if there is none.
  std::string line(int64_t rows) const;

 private:
  struct Reason {
    std::string words, first;
    int64_t count = 0;
  };
  std::vector<Reason> reasons_;  // in the order in which they came
};

}  // namespace temper::env
