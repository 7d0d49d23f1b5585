#pragma once
// What is wrong with the outputs of a call, as a struct of fixed size that is part of an oracle's reply.

#include <cstdint>

namespace temper::env {

inline constexpr int kReportedOutputs = 16;
inline constexpr int kReportedElements = 4;  // per list

struct WrongElement {
  int64_t index = 0;  // flat
  double got = 0, expected = 0;
  uint32_t unwritten = 0;  // 1: it has what the judge had put there
};

struct OutputReport {
  int64_t wrong = 0;  // the number of elements out of bounds; if it is 0, the other members are not set
  int64_t seen = 0;   // elements that all below is about: not more than some of a large output
  int64_t nan = 0;    // wrong and NaN; not those unwritten
  int64_t infinite = 0;
  int64_t unwritten = 0;
  double max_absolute = 0, max_relative = 0;  // errors, among wrong elements where both are finite
  int32_t first_count = 0, worst_count = 0;   // lengths of the two lists
  WrongElement first[kReportedElements];      // in the order of their places
  WrongElement worst[kReportedElements];      // furthest out of its bound first
};

struct MismatchReport {
  OutputReport output[kReportedOutputs];  // one for each output of the task, in order
};

// Fills a report, wrong element by wrong element in the order of their places.
class OutputReporter {
 public:
  // `excess`: how many times its bound the element is off; infinite for what is not finite.
  void add(const WrongElement& element, double excess);
  OutputReport report;

 private:
  void add_worst(const WrongElement& element, double excess);
  double excess_[kReportedElements] = {};
};

}  // namespace temper::env
