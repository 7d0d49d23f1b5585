// Layouts that are known by the digest of a published template. published_templates.py --known compares them with what is
// read off the templates.

#include "policy/chat/published_layouts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "policy/chat/chat_text.h"
#include "policy/chat/trials.h"

namespace temper::policy {
namespace {

using Json = nlohmann::json;

ChatLayout layout_of(const PublishedFamily& family) { return layout_from(family.layout, family.name); }

TEST(PublishedLayouts, AreReadAndWrite) {
  ASSERT_FALSE(published_families().empty());
  for (const PublishedFamily& family : published_families()) {
    const ChatLayout layout = layout_of(family);
    EXPECT_EQ(layout_from(to_json(layout).dump(), "again"), layout) << family.name;
    EXPECT_FALSE(layout.stop.empty()) << family.name;
    EXPECT_TRUE(layout.answer_end.ends_with(layout.stop)) << family.name;
    EXPECT_EQ(family.layout.find("{date}") != std::string::npos, !family.date_format.empty()) << family.name;
    for (const ChatQuestion& question : plain_trials(false)) {
      ASSERT_EQ(refusal(layout, question.messages), "") << family.name;
      const std::string whole = write_chat(layout, question.messages).text;
      std::string_view text = whole;
      for (const ChatMessage& message : question.messages) {
        const std::string_view content =
            trimmed(message.content, {std::string(kWhiteSpace), std::string(kWhiteSpace)});
        const size_t at = text.find(content);
        ASSERT_NE(at, std::string_view::npos) << family.name << ": " << content;
        text.remove_prefix(at + content.size());
      }
    }
  }
}

TEST(PublishedLayouts, HaveEachDigestOnce) {
  std::set<std::string> seen;
  for (const PublishedFamily& family : published_families())
    for (const std::string& digest : family.texts) {
      EXPECT_EQ(digest.size(), 64u);
      EXPECT_EQ(digest.find_first_not_of("0123456789abcdef"), std::string::npos);
      EXPECT_TRUE(seen.insert(digest).second) << family.name << ": " << digest;
    }
}

TEST(PublishedLayouts, AreFoundByTheTextAndWhatElseDecides) {
  PublishedFamily family = published_families().front();
  family.texts = {text_digest("a template\nof ours")};
  family.tokens = {{"bos_token", "<s>"}};
  const ChatTemplate own{
      .text = "a template\nof ours", .tokens = {{"bos_token", "<s>"}}, .date = "2026-03-04"};
  const PublishedLayout found = published_layout(own, {family});
  ASSERT_TRUE(found.layout.has_value()) << found.why;
  ChatLayout expected = layout_of(family);
  expected.source = own.digest();
  expected.date = own.date;
  EXPECT_EQ(*found.layout, expected);

  ChatTemplate other = own;
  other.text = "a template\r\nof ours\n";  // what Jinja reads is the same
  EXPECT_TRUE(published_layout(other, {family}).layout.has_value());
  other.text = "a template\nof ours ";
  EXPECT_FALSE(published_layout(other, {family}).layout.has_value());
  EXPECT_EQ(published_layout(other, {family}).why, "is not one of those that are known by their digest");
  other = own;
  other.arguments = R"({"enable_thinking": false})";
  EXPECT_NE(published_layout(other, {family}).why.find("only without model.chat_arguments"),
            std::string::npos);
  other = own;
  other.tokens = {{"bos_token", "<bos>"}};
  EXPECT_NE(published_layout(other, {family}).why.find("only with <s> as its bos_token"), std::string::npos);
  other.tokens.clear();
  EXPECT_FALSE(published_layout(other, {family}).layout.has_value());
}

TEST(PublishedLayouts, WriteTheDayAsTheirTemplateDoes) {
  PublishedFamily family = published_families().front();
  Json layout = Json::parse(family.layout);
  layout["before_system"] = "Today: {date}.";
  family.layout = layout.dump();
  family.texts = {text_digest("x")};
  for (const auto& [format, shown] :
       {std::pair("%d %b %Y", "04 Mar 2026"), std::pair("%Y-%m-%d", "2026-03-04"),
        std::pair("%B %d, %Y", "March 04, 2026")}) {
    family.date_format = format;
    const auto found =
        published_layout({.text = "x", .tokens = family.tokens, .date = "2026-03-04"}, {family});
    ASSERT_TRUE(found.layout.has_value()) << found.why;
    EXPECT_EQ(found.layout->before_system, "Today: " + std::string(shown) + ".");
    EXPECT_EQ(found.layout->date, "2026-03-04");
  }
}

}  // namespace
}  // namespace temper::policy
