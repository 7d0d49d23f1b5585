#pragma once
// A text with fields in braces, as a user writes one for the messages that a policy gets: "Solve this:\n\n{problem}".
//
// {{ and }} write braces. Fields are filled once: what is put in for a field is not read for fields, so code with braces
// passes as it is.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace temper::rollout {

enum class TemplateKind : uint8_t {
  kSystem,  // the system message
  kFirst,   // the user's first message
  kLater,   // the user's message after an answer was judged
};

struct PromptField {
  std::string name;
  std::string help;  // what it stands for, for people
};
// Those that a template of the kind may have, in the order in which people are told of them.
const std::vector<PromptField>& fields_of(TemplateKind kind);

// A field's name → the text for it.
using PromptFields = std::map<std::string, std::string, std::less<>>;

inline constexpr size_t kMaxTemplateBytes = 64 << 10;

class PromptTemplate {
 public:
  PromptTemplate() = default;
  // `where` begins each line of an error. One line end behind the text, as editors write it, is left out.
  // Errors: ConfigError with every problem of the text: it is empty, longer than kMaxTemplateBytes or no UTF-8, holds a
  // NUL or a byte order mark, names an unknown field, has a brace that belongs to no field, or lacks a field without
  // which the policy could not know what to do.
  PromptTemplate(TemplateKind kind, std::string text, const std::string& where);
  // The same of a file, named as `path`. Errors: as above, and those of base/input/file.h.
  static PromptTemplate read(TemplateKind kind, const std::string& path);

  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }
  // `fields` must have all of fields_of(kind).
  std::string fill(const PromptFields& fields) const;

 private:
  struct Part {
    std::string text;
    bool field = false;
  };
  std::string text_;
  std::vector<Part> parts_;
  friend class TemplateReader;
};

}  // namespace temper::rollout
