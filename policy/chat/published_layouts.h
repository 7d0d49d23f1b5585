#pragma once
// Layouts of published chat templates, for machines that cannot run one. The table is published_layouts.json beside this
// file; tests/policy/text/published_templates.py --known compares it with what is read off the templates themselves, which
// are other people's and are not kept here.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/chat/chat_layout.h"
#include "policy/chat/chat_template.h"

namespace temper::policy {

// A family of models whose templates have one layout.
struct PublishedFamily {
  std::string name;
  std::vector<std::string> texts;             // digests of the templates' texts, see text_digest
  std::map<std::string, std::string> tokens;  // what bos_token and eos_token are where the texts ask for them
  std::string date_format = "";  // where a text writes the day: how. The layout has {date} in its place
  std::string layout;            // a JSON object for layout_from
};
const std::vector<PublishedFamily>& published_families();

// SHA-256 of what Jinja reads of a text: line breaks are \n, and one at the end counts for nothing.
std::string text_digest(std::string text);

struct PublishedLayout {
  std::optional<ChatLayout> layout;  // equal to the derived one but for `tried`, which is 0
  std::string why = "";              // there is none: in words, after "its chat template "
};
PublishedLayout published_layout(const ChatTemplate& chat_template,
                                 const std::vector<PublishedFamily>& families = published_families());

}  // namespace temper::policy
