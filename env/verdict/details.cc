#include "env/verdict/details.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "env/verdict/message.h"

namespace temper::env {
namespace {

constexpr size_t kMaxLineBytes = 400;

// Calls `use` with each line, without its newline.
template <class Use>
void for_each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    use(text.substr(0, newline));
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
}

// "candidate.cc:7:9: error: TEXT" and "candidate.cu(7): error: TEXT" → "line 7: error: TEXT".
std::string with_line_number(std::string_view line) {
  constexpr std::string_view kDigits = "0123456789";
  if (!line.starts_with("candidate.cc") && !line.starts_with("candidate.cu")) return std::string(line);
  const std::string_view place = line.substr(std::string_view("candidate.cc").size());
  const size_t text = place.find(": ");
  if (place.empty() || text == std::string_view::npos) return std::string(line);
  const std::string rest(place.substr(text + 2));
  const size_t end = std::min(place.find_first_not_of(kDigits, 1), place.size());
  const bool numbered = end > 1 && end <= text && (place[0] == ':' || place[0] == '(');
  return numbered ? fmt::format("line {}: {}", place.substr(1, end - 1), rest) : rest;
}

// "    7 |   x = 1" → 7; none: the line quotes nothing.
std::optional<size_t> quoted_line(std::string_view line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos || begin == 0) return std::nullopt;
  const size_t end = line.find_first_not_of("0123456789", begin);
  constexpr size_t kMostDigits = 9;
  if (end == std::string_view::npos || end == begin || end - begin > kMostDigits) return std::nullopt;
  if (line.substr(end, 2) != " |") return std::nullopt;
  return std::stoul(std::string(line.substr(begin, end - begin)));
}

// Scrubs the text line by line and drops empty lines.
std::string scrubbed_lines(std::string_view text) {
  std::string clean;
  for_each_line(text, [&](std::string_view line) {
    const std::string words = scrub(line, kMaxLineBytes);
    const size_t last = words.find_last_not_of(' ');
    if (last != std::string::npos) clean += words.substr(0, last + 1) + "\n";
  });
  if (!clean.empty()) clean.pop_back();
  return clean;
}

// "; of them 3 NaN, 1 unwritten".
std::string kinds_text(const OutputReport& report) {
  std::string text;
  for (const auto& [count, name] : {std::pair(report.nan, "NaN"), std::pair(report.infinite, "infinite"),
                                    std::pair(report.unwritten, "unwritten")})
    if (count > 0) text += fmt::format("{} {} {}", text.empty() ? "; of them" : ",", count, name);
  return text;
}

std::string summary_line(const std::string& name, const OutputReport& report, int64_t elements) {
  std::string text = fmt::format("{}: {} of {} elements are wrong", name, report.wrong, elements);
  if (report.seen < elements) text += fmt::format(" (what follows is of {} of them)", report.seen);
  text += kinds_text(report);
  if (report.max_absolute > 0)
    text += fmt::format("; the largest finite error is {:.4g}, the largest relative one {:.4g}",
                        report.max_absolute, report.max_relative);
  return text + "\n";
}

std::string element_line(const char* word, const Task& task, const Shape& shape, int64_t tensor,
                         const WrongElement& element) {
  const int64_t elements = tensor_elements(task.outputs[size_t(tensor)], shape);
  if (element.index < 0 || element.index >= elements) return "";
  Mismatch place = locate_mismatch(task, shape, tensor, element.index);
  place.got = element.got;
  place.expected = element.expected;
  place.unwritten = element.unwritten != 0;
  return fmt::format("  {}: {}\n", word, element_text(place));
}

std::string element_lines(const Task& task, const Shape& shape, int64_t tensor, const OutputReport& report) {
  const auto count = [](int32_t claimed) { return std::clamp(claimed, 0, kReportedElements); };
  std::string text;
  for (int i = 0; i < count(report.first_count); ++i)
    text += element_line("first", task, shape, tensor, report.first[i]);
  for (int i = 0; i < count(report.worst_count); ++i) {
    const auto same = [&](const WrongElement& one) { return one.index == report.worst[i].index; };
    if (std::none_of(report.first, report.first + count(report.first_count), same))
      text += element_line("worst", task, shape, tensor, report.worst[i]);
  }
  return text;
}

}  // namespace

std::string compiler_details(std::string_view diagnostics, std::string_view source) {
  std::vector<std::string_view> lines;
  for_each_line(source, [&](std::string_view line) { lines.push_back(line); });
  std::string text;
  bool of_candidate = false;  // the quotation that follows
  for_each_line(diagnostics, [&](std::string_view line) {
    const auto quoted = quoted_line(line);
    if (!line.starts_with(' ')) of_candidate = line.starts_with("candidate.c");
    if (quoted && of_candidate && *quoted >= 1 && *quoted <= lines.size())
      text += fmt::format("{} | {}\n", line.substr(0, line.find(" |")),
                          lines[*quoted - 1].substr(0, kMaxLineBytes));
    else
      text += with_line_number(line) + "\n";
  });
  return scrubbed_lines(text);
}

std::string mismatch_details(const Task& task, const Shape& shape, const MismatchReport& report) {
  std::string text;
  for (size_t i = 0; i < std::min(task.outputs.size(), size_t(kReportedOutputs)); ++i) {
    const TensorSpec& output = task.outputs[i];
    if (report.output[i].wrong == 0) {
      text += fmt::format("{}: right\n", output.name);
      continue;
    }
    text += summary_line(output.name, report.output[i], tensor_elements(output, shape));
    text += element_lines(task, shape, int64_t(i), report.output[i]);
  }
  return text;
}

std::string call_details(const Task& task, int32_t shape, const std::string& reason,
                         std::chrono::nanoseconds budget) {
  std::string text = shape >= 0 ? fmt::format("in a call at the check sizes, number {} of {}\n", shape + 1,
                                              task.check_shapes.size())
                                : "in a call at the timed sizes, after the check sizes had been right\n";
  if (reason == "timeout")
    text += fmt::format("loading and all calls together may take {:.3g} s\n", double(budget.count()) * 1e-9);
  return text;
}

std::string compile_time_details(std::chrono::milliseconds limit) {
  return fmt::format("compiling may take {:.3g} s\n", double(limit.count()) * 1e-3);
}

std::string verdict_details(const Verdict& verdict, std::string_view lines) {
  if (lines.empty()) return "";
  const Verdict plain{.kind = verdict.kind, .reason = verdict.reason, .message = ""};
  return cut_in_the_middle(scrubbed_lines(verdict_message(plain) + "\n" + std::string(lines)),
                           kMaxDetailsBytes);
}

void tell_problem(const ProblemNotes& notes, Verdict& verdict) {
  verdict.problem = notes;
  std::string line;
  if (verdict.pass() && !notes.weak.empty())
    line = fmt::format("the problem tells little: {} would pass, too", weak_text(notes.weak));
  if (verdict.kind == VerdictKind::kFailIncorrect && !notes.promises.empty())
    line = fmt::format(
        "inputs are drawn in other ways than get_inputs draws them, but keep what all its draws have: {}",
        fmt::join(notes.promises, "; "));
  if (line.empty()) return;
  // A policy is told the details in place of the message, where there are any.
  const std::string& before = verdict.details.empty() ? verdict.message : verdict.details;
  verdict.details = cut_in_the_middle(scrubbed_lines(before + "\n" + line), kMaxDetailsBytes);
}

std::string cut_in_the_middle(std::string_view text, size_t max_bytes) {
  constexpr size_t kLineOfItsOwn = 48;
  if (text.size() <= max_bytes) return std::string(text);
  const size_t kept = max_bytes > kLineOfItsOwn ? max_bytes - kLineOfItsOwn : 0;
  const size_t most_head = kept - kept / 3, least_tail = text.size() - kept / 3;
  size_t head = most_head == 0 ? 0 : text.rfind('\n', most_head);
  if (head == std::string_view::npos) head = most_head;
  size_t tail = text.find('\n', least_tail);
  tail = tail == std::string_view::npos ? least_tail : tail + 1;
  return fmt::format("{}\n[{} bytes left out]\n{}", text.substr(0, head), tail - head, text.substr(tail));
}

}  // namespace temper::env
