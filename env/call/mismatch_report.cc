#include "env/call/mismatch_report.h"

#include <cmath>

namespace temper::env {

void OutputReporter::add(const WrongElement& element, double excess) {
  ++report.wrong;
  if (element.unwritten != 0)
    ++report.unwritten;
  else if (std::isnan(element.got))
    ++report.nan;
  else if (std::isinf(element.got))
    ++report.infinite;
  if (std::isfinite(element.got) && std::isfinite(element.expected)) {
    const double error = std::abs(element.got - element.expected);
    report.max_absolute = std::fmax(report.max_absolute, error);
    if (element.expected != 0)
      report.max_relative = std::fmax(report.max_relative, error / std::abs(element.expected));
  }
  if (report.first_count < kReportedElements) report.first[report.first_count++] = element;
  add_worst(element, excess);
}

// The earlier of equals stays in front.
void OutputReporter::add_worst(const WrongElement& element, double excess) {
  int place = report.worst_count;
  while (place > 0 && excess_[place - 1] < excess) --place;
  if (place == kReportedElements) return;
  if (report.worst_count < kReportedElements) ++report.worst_count;
  for (int i = report.worst_count - 1; i > place; --i) {
    report.worst[i] = report.worst[i - 1];
    excess_[i] = excess_[i - 1];
  }
  report.worst[place] = element;
  excess_[place] = excess;
}

}  // namespace temper::env
