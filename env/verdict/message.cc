#include "env/verdict/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"

namespace temper::env {
namespace {

const std::map<std::string, const char*, std::less<>>& reason_words() {
  static const std::map<std::string, const char*, std::less<>> words{
      {"no_code_block", "no code block in the answer"},
      {"unclosed_code_block", "the code block is not closed"},
      {"unclosed_reasoning", "the reasoning never ends; close it, then give the code block"},
      {"empty_code_block", "the code block is empty"},
      {"no_entry_point", "the function asked for is not defined as extern \"C\""},
      {"tolerance", "an output is wrong"},
      {"guard", "wrote outside its buffers"},
      {"input_mutation", "changed an input"},
      {"table", "changed a __device__ variable, which outlives a call"},
      {"late_write", "changed its outputs after the call had ended"},
      {"unwritten", "left output elements unwritten"},
      {"floor", "faster than this machine can be"},
      {"max_speedup", "faster than believable"},
      {"unsteady", "faster in its first calls than in later ones, or slower"},
      {"clock", "its time is not what the clock says"},
      {"async", "its work goes on after it has returned and the device was waited for"},
      {"shape", "an output has another shape"},
      {"dtype", "an output has another dtype"},
      {"strides", "an output does not lie densely in memory"},
      {"weights", "its weights are not those of the task's model"},
      {"syntax", "is no Python"},
      {"exception", "raises an exception"},
      {"knockout", "the output is right without its kernels, so they did not make it"},
      {"foreign_kernel", "a kernel ran that the launcher did not start"},
      {"exit", "ended the process"},
      {"timeout", "took too long"},
      {"source_too_long", "the source is too long; write less code"},
      {"nul_byte", "a zero byte in the source"},
      {"compile_error", "does not compile"},
      {"compile_timeout", "took too long to compile"},
      {"compile_quota", "took too much memory to compile; use less static data and fewer templates"},
      {"load_error", "cannot be loaded; define all that it uses"},
      {"protocol", "disturbed its runner while being loaded; do all work inside kernel"},
      {"forbidden_call", "made a forbidden system call; only compute, without processes or threads"},
  };
  return words;
}

bool ends_path(char c) { return std::strchr(" \t\n\"'`:;,()<>[]", c) != nullptr; }

// Is there an absolute path of a file at `at`? A quotient ("a/b", "1 / n") is none.
bool path_at(std::string_view text, size_t at) {
  if (text[at] != '/' || at + 1 >= text.size()) return false;
  if (at > 0 && !ends_path(text[at - 1]) && text[at - 1] != '=') return false;
  return std::isalpha(static_cast<unsigned char>(text[at + 1])) || text[at + 1] == '.' || text[at + 1] == '_';
}

std::string without_paths(std::string_view text) {
  std::string clean;
  for (size_t at = 0; at < text.size();) {
    if (!path_at(text, at)) {
      clean += text[at++];
      continue;
    }
    clean += "path";
    while (at < text.size() && !ends_path(text[at])) ++at;
  }
  return clean;
}

std::string in_ascii(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) continue;  // the rest of a character that has already become '?'
    clean += byte >= 0x80 ? '?' : byte < 0x20 || byte == 0x7F ? ' ' : c;
  }
  return clean;
}

// A space behind the first character of what chat formats treat as a token.
std::string without_chat_tokens(std::string text) {
  constexpr std::array kMarks{"<|",    "<s>",    "</s>",  "<think", "</think",
                              "<tool", "</tool", "[INST", "[/INST", "<<SYS"};
  for (const std::string_view mark : kMarks) {
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      text.insert(at + 1, 1, ' ');
    }
  }
  return text;
}

// The digits between `open` and `close` somewhere in front of a message.
std::string_view number_between(std::string_view place, char open, char close) {
  for (size_t at = place.find(open); at != std::string_view::npos; at = place.find(open, at + 1)) {
    const size_t end = place.find_first_not_of("0123456789", at + 1);
    if (end != std::string_view::npos && end > at + 1 && place[end] == close)
      return place.substr(at + 1, end - at - 1);
  }
  return {};
}

// g++'s "file:LINE:COLUMN: error: TEXT" and nvcc's "file(LINE): error: TEXT" → "line LINE: TEXT"; what is
// behind the candidate's last line, or of ptxas, has no line of the candidate's. Empty if the line is no such
// error.
std::string compiler_error(std::string_view line) {
  const bool ptxas = line.starts_with("ptxas");
  const size_t mark = line.find(ptxas ? "error  " : "error: ");
  const size_t colon = line.find(": ", mark);
  if (mark == std::string_view::npos || colon == std::string_view::npos) return "";
  const std::string text(line.substr(colon + 2));
  if (ptxas || line.starts_with("entry_point")) return text;
  const std::string_view place = line.substr(0, mark);
  std::string_view number = number_between(place, '(', ')');
  if (number.empty()) number = number_between(place, ':', ':');
  return number.empty() ? text : fmt::format("line {}: {}", number, text);
}

std::string with_shapes(std::string text, const std::vector<ShapeTime>& shapes) {
  for (const ShapeTime& at : shapes) {
    const std::string line =
        "\n" + scrub(fmt::format("at {}: speedup {:.2f}", sizes_text(at.sizes), at.speedup));
    if (text.size() + line.size() <= kMaxMessageBytes) text += line;
  }
  return text;
}

}  // namespace

Mismatch locate_mismatch(const Task& task, const Shape& shape, int64_t tensor, int64_t index) {
  TEMPER_CHECK(tensor >= 0 && tensor < int64_t(task.outputs.size()), "output {} of {}", tensor, task.name);
  Mismatch mismatch;
  mismatch.tensor = task.outputs[size_t(tensor)].name;
  const auto sizes = tensor_sizes(task.outputs[size_t(tensor)], shape);
  mismatch.index.assign(sizes.size(), 0);
  mismatch.elements = 1;
  for (size_t axis = sizes.size(); axis-- > 0;) {
    mismatch.index[axis] = index % sizes[axis];
    index /= sizes[axis];
    mismatch.elements *= sizes[axis];
  }
  return mismatch;
}

std::string element_text(const Mismatch& mismatch) {
  const auto number = [](double value) { return std::isnan(value) ? "nan" : fmt::format("{:.4g}", value); };
  return fmt::format("{}[{}] is {}, not {}", mismatch.tensor, fmt::join(mismatch.index, ","),
                     mismatch.unwritten ? "unwritten" : number(mismatch.got), number(mismatch.expected));
}

std::string mismatch_text(const Mismatch& mismatch) {
  return fmt::format("{}; {} of {} wrong", element_text(mismatch), mismatch.wrong, mismatch.elements);
}

// A brace that is never closed makes an error of the first thing of ours that follows the source, and is named
// at the end of the input.
std::string first_compiler_error(std::string_view diagnostics) {
  std::string_view undefined;
  std::string of_ours;
  while (!diagnostics.empty()) {
    const size_t newline = diagnostics.find('\n');
    const std::string_view line = diagnostics.substr(0, newline);
    if (const auto error = compiler_error(line); !error.empty()) {
      const bool ours = line.starts_with("entry_point:");
      if (!ours && of_ours.empty()) return scrub(error);
      if (error.ends_with("at end of input")) return scrub(error);
      if (of_ours.empty()) of_ours = error;
    }
    const size_t mark = line.find("undefined reference");
    if (undefined.empty() && mark != std::string_view::npos) undefined = line.substr(mark);
    diagnostics.remove_prefix(newline == std::string_view::npos ? diagnostics.size() : newline + 1);
  }
  return scrub(of_ours.empty() ? undefined : of_ours);
}

bool is_reason_code(const std::string& word) {
  constexpr size_t kMostBytes = 32;
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !word.empty() && word.size() <= kMostBytes && std::ranges::all_of(word, fits);
}

std::string words_of(const std::string& reason) {
  if (const auto it = reason_words().find(reason); it != reason_words().end()) return it->second;
  if (!reason.starts_with("signal_")) return reason;
  const char* name = ::sigdescr_np(std::atoi(reason.c_str() + 7));
  return name ? name : reason;
}

std::string gap_text(Placement placement) {
  return placement == Placement::kEndAtGap
             ? "in a call with no memory right behind its buffers: look for accesses past an end"
             : "in a call with no memory right in front of its buffers: look for accesses before a begin";
}

std::string profile_text(const Profile& profile) {
  constexpr size_t kShown = 3;
  const auto percent = [](double share) { return fmt::format("{:.0f} %", 100 * share); };
  std::string text = fmt::format("{} of the {} roof", percent(profile.roof_share), profile.roof);
  if (profile.kernels.size() < 2) return text;
  for (size_t i = 0; i < std::min(kShown, profile.kernels.size()); ++i) {
    const KernelTime& kernel = profile.kernels[i];
    text +=
        fmt::format("{} {} {:.1f} us {}", i == 0 ? ";" : ",", kernel.name, kernel.us, percent(kernel.share));
  }
  return text;
}

std::string verdict_message(const Verdict& verdict, std::string_view detail) {
  std::string text = to_string(verdict.kind);
  if (verdict.pass()) {
    text += fmt::format(" speedup {:.2f}", verdict.speedup);
    if (verdict.speedup_compiled)
      text += fmt::format(", against torch.compile {:.2f}", *verdict.speedup_compiled);
    if (verdict.profile) text += "; " + profile_text(*verdict.profile);
    if (!verdict.configuration.empty()) text += "; " + verdict.configuration;
  } else if (!detail.empty()) {
    text += fmt::format(" {}", detail);
  } else if (!verdict.reason.empty()) {
    text += fmt::format(" {}", words_of(verdict.reason));
  }
  return with_shapes(scrub(text), verdict.shapes);
}

std::string scrub(std::string_view text, size_t max_bytes) {
  std::string clean = without_chat_tokens(without_paths(in_ascii(text.substr(0, 8 * max_bytes))));
  if (clean.size() > max_bytes) clean.resize(max_bytes);
  return clean;
}

}  // namespace temper::env
