#pragma once
// What a layout writes beside what the template renders.

#include <span>
#include <string>

#include "policy/chat/chat_layout.h"
#include "policy/chat/renderer.h"

namespace temper::policy {

// In words what the template changes in a conversation and a layout does not, since what a model has seen and written
// stays as it was.
namespace rewrites {
inline constexpr const char *kAllReasoning = "leaves out the reasoning of answers",
                            *kEarlierReasoning = "leaves out the reasoning of earlier answers",
                            *kSystem = "moves the system message to the user's last message",
                            *kNoSystem = "leaves out the system message once an answer follows",
                            *kNoEnd = "writes no token that ends an answer",
                            *kNoLastEnd = "writes no token behind a last answer",
                            *kOther = "writes earlier turns otherwise once another turn follows";
}  // namespace rewrites

struct ChatComparison {
  bool equal = false;
  // Where it is not equal for one of the reasons above; else both texts differ. kOther says no more than that the last
  // turns are the same: the earlier ones were, where shorter conversations are not different either.
  std::string rewrite = "";
  bool differs() const { return !equal && rewrite.empty(); }
};

// `theirs` is the rendered text of the conversation. What stands behind the token that ends a last answer counts for
// nothing.
// An end of an answer that the template does not write counts for nothing either.
ChatComparison compare_chat(const ChatLayout& layout, const ChatQuestion& question, std::string_view theirs);

// What the template would write by this layout.
std::string expected_text(const ChatLayout& layout, std::span<const ChatMessage> messages);

// Both texts, from shortly before the place where they part.
std::string show_difference(std::string_view ours, std::string_view theirs);

// A conversation as messages show it: its roles and the beginnings of its contents.
std::string show_conversation(std::span<const ChatMessage> messages);

}  // namespace temper::policy
