// Chat templates that are really run, and what is read off them.

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "policy/chat/chat_template_write.h"
#include "policy/chat/comparison.h"
#include "policy/chat/derivation.h"
#include "policy/chat/trials.h"
#include "trainer/app/chat/template_renderer.h"

namespace temper::trainer {
namespace {

using policy::ChatLayout;
using policy::ChatMessage;
using policy::ChatQuestion;
using policy::ChatTemplate;

const std::vector<std::string> kNames = {"<|im_start|>", "<|im_end|>", "<s>",    "</s>",
                                         "<|eot_id|>",   "[INST]",     "[/INST]"};

ChatTemplate template_of_text(const std::string& text) {
  return {.text = text, .tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}, .date = "2026-03-04"};
}

bool templates_run() {
  try {
    chat_renderer().render(template_of_text("x"), {{{{"user", "u"}}, true}});
    return true;
  } catch (const policy::NoRenderer&) {
    return false;
  }
}
#define SKIP_WITHOUT_JINJA() \
  if (!templates_run()) GTEST_SKIP() << "no Python with jinja2, or no sandbox"

std::string text_of(const std::string& text, const std::vector<ChatMessage>& messages,
                    bool generates = true) {
  const auto rendered = chat_renderer().render(template_of_text(text), {{messages, generates}});
  return rendered.at(0).error.empty() ? rendered[0].text : "error: " + rendered[0].error;
}

// "" or why the template is refused.
std::string refusal_of(const std::string& text) try {
  derive_layout(template_of_text(text), kNames, chat_renderer());
  return "";
} catch (const ConfigError& e) {
  return e.what();
}

// ChatML whose message is this expression.
std::string chatml(const std::string& content = "m.content", const std::string& opening = "") {
  return "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\n' + " + content +
         " + '<|im_end|>\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n" +
         opening + "' }}{%- endif %}";
}

TEST(ChatTemplates, AreRenderedAsTransformersDoes) {
  SKIP_WITHOUT_JINJA();
  const std::vector<ChatMessage> asked = {{"user", "a\nb"}};
  EXPECT_EQ(
      text_of(
          "{{ bos_token }}{% for m in messages %}\n  {% if true %}\n{{ m.content }}{% endif %}\n{% endfor %}",
          asked),
      "<s>a\nb");
  EXPECT_EQ(text_of("{{ messages | tojson }}", asked), R"([{"role": "user", "content": "a\nb"}])");
  EXPECT_EQ(text_of("{{ strftime_now('%d %b %Y') }}", asked), "04 Mar 2026");
  EXPECT_EQ(text_of("{% generation %}{{ messages[0].role }}{% endgeneration %}", asked), "user");
  EXPECT_EQ(text_of("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", asked),
            "01");
  EXPECT_EQ(text_of("{{ raise_exception('no such role') }}", asked), "error: no such role");
  EXPECT_EQ(text_of("{{ add_generation_prompt }}{{ tools }}", asked, false), "FalseNone");
}

TEST(ChatTemplates, ReadNothingAndEndSoon) {
  SKIP_WITHOUT_JINJA();
  const std::vector<ChatMessage> asked = {{"user", "a"}};
  for (const char* text :
       {"{% include '/etc/passwd' %}", "{{ ''.__class__.__mro__ }}", "{{ cycler.__init__.__globals__ }}",
        "{{ messages.append(1) }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for i in range(99999) %}{{ 'xxxxxxxxxxxxxxxxxxxx' }}{% endfor %}", "{{ '\\ud83d' }}",
        "{{ raise_exception('\\ud83d') }}"})
    EXPECT_TRUE(text_of(text, asked).starts_with("error: ")) << text;
  EXPECT_NE(refusal_of("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
                .find("computes for more than"),
            std::string::npos);
  EXPECT_NE(refusal_of("{% if %}").find("none that Jinja reads"), std::string::npos);
  EXPECT_EQ(text_of("{{ messages[0].content }}", asked), "a");  // after a template that was ended
}

// What no two processes, or no two hours, write alike.
TEST(ChatTemplates, ThatWriteAnotherTextWhenAskedAgainAreRefused) {
  SKIP_WITHOUT_JINJA();
  for (const char* text : {"{{ strftime_now('%H:%M') }}", "{{ strftime_now('%f') }}",
                           "{{ strftime_now('%s') }}", "{{ raise_exception }}", "{{ messages.count }}",
                           "{{ {'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'f': 6}.keys() - [] }}"})
    EXPECT_NE(refusal_of(text + chatml()).find("cannot be followed: asked for"), std::string::npos) << text;
  for (const char* text : {"{{ [1] | random }}", "{{ lipsum(n=1) }}"})
    EXPECT_NE(refusal_of(text + chatml()).find("it draws at random"), std::string::npos) << text;
  EXPECT_EQ(refusal_of("{{ strftime_now('%A, %d %b %Y') }}" + chatml()), "");
}

TEST(ChatTemplates, GiveTheirLayout) {
  SKIP_WITHOUT_JINJA();
  const auto derived = [](const std::string& text) {
    return derive_layout(template_of_text(text), kNames, chat_renderer());
  };
  const ChatLayout plain = derived(chatml());
  EXPECT_EQ(plain.stop, "<|im_end|>");
  EXPECT_EQ(plain.closing, "\n");
  EXPECT_EQ(plain.first.before, "<|im_start|>user\n");
  EXPECT_EQ(plain.further.before, "\n<|im_start|>user\n");
  EXPECT_TRUE(plain.limits.empty() && plain.rewrites.empty());
  EXPECT_EQ(derived(chatml("m.content | trim")).first.trim,
            (policy::Trim{std::string(policy::kWhiteSpace), std::string(policy::kWhiteSpace)}));
  EXPECT_EQ(derived(chatml("m.content.lstrip('\n ')")).answer_trim, (policy::Trim{"\n ", ""}));
  EXPECT_EQ(derived("{{ bos_token }}" + chatml()).first.before, "<s><|im_start|>user\n");
  EXPECT_EQ(derived(chatml("m.content", "Answer: ")).first.after,
            "<|im_end|>\n<|im_start|>assistant\nAnswer: ");
  const ChatLayout said = derived(
      "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}" +
      chatml());
  EXPECT_EQ(said.first.before, "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\n");
  EXPECT_EQ(said.before_system, "<|im_start|>system\n");
  const ChatLayout none = derived(
      "{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}" + chatml());
  EXPECT_TRUE(none.limits.contains("system message"));
  EXPECT_NE(none.why.find("no system here"), std::string::npos);
  const ChatLayout drops = derived(
      chatml("(m.content.split('</think>')[-1] if m.role == 'assistant' and not loop.last else m.content)"));
  EXPECT_EQ(drops.rewrites, std::vector<std::string>{policy::rewrites::kEarlierReasoning});
}

TEST(ChatTemplates, ThatDoSomethingElseAreRefusedWithTheConversation) {
  SKIP_WITHOUT_JINJA();
  for (const char* content :
       {"m.content | upper", "m.content.replace('a', 'b')", "m.content[:40]",
        "(m.content + loop.index | string)", "(m.content if m.content | length < 2000 else 'long')"}) {
    const std::string why = refusal_of(chatml(content));
    EXPECT_NE(why.find("cannot be followed: asked for [{\"role\":"), std::string::npos) << content;
    EXPECT_NE(why.find("model.chat_format=temper|chatml"), std::string::npos) << content;
  }
  EXPECT_NE(refusal_of("{{ tools_of_ours | length }}" + chatml("functions + m.content"))
                .find("model.chat_arguments gives it a name that it lacks"),
            std::string::npos);
}

TEST(ChatTemplates, EndAnswersWithTheTokenThatEndsThem) {
  SKIP_WITHOUT_JINJA();
  const auto derived = [](const std::string& end, const std::string& behind = "") {
    return derive_layout(
        template_of_text("{%- for m in messages %}{{- '<|im_start|>' + m.role + ': ' + m.content + '" + end +
                         "' }}{%- endfor %}{{- '" + behind +
                         "' if not add_generation_prompt else '<|im_start|>assistant: ' }}"),
        kNames, chat_renderer());
  };
  EXPECT_EQ(derived("<|im_end|>").stop, "<|im_end|>");
  const ChatLayout two = derived("[/INST]<|im_end|>");  // of two that always stand there the last
  EXPECT_EQ(two.answer_end, "[/INST]<|im_end|>");
  EXPECT_EQ(two.stop, "<|im_end|>");
  EXPECT_EQ(derived("[INST]</s><s>").answer_end, "[INST]</s>");  // the tokenizer's own
  const ChatLayout more = derived("<|im_end|>\n", "<|im_start|>assistant: ");
  EXPECT_EQ(more.stop, "<|im_end|>");
  EXPECT_EQ(more.closing, "\n<|im_start|>assistant: ");
}

// Vicuna's manner without its end: the model was taught one, and the text that the template writes lacks it.
TEST(ChatTemplates, MayEndNoAnswer) {
  SKIP_WITHOUT_JINJA();
  const auto told = [](const std::string& before_user, const std::string& behind_answer) {
    return "{{ bos_token }}{%- for m in messages %}{%- if m.role == 'user' %}{{- '" + before_user +
           "USER: ' + m.content + '\n' }}{%- else %}{{- 'ASSISTANT: ' + m.content | trim + '" +
           behind_answer +
           "' }}{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- 'ASSISTANT: ' }}{%- endif %}";
  };
  const ChatLayout layout = derive_layout(template_of_text(told("", "\n")), kNames, chat_renderer());
  EXPECT_EQ(layout.end_use, policy::EndUse::kNever);
  EXPECT_EQ(layout.stop, "</s>");
  EXPECT_EQ(layout.rewrites, std::vector<std::string>{policy::rewrites::kNoEnd});
  const std::vector<ChatMessage> asked = {{"user", "u"}, {"assistant", " a\n"}, {"user", "v"}};
  EXPECT_EQ(write_chat(layout, asked).text, "<s>USER: u\nASSISTANT: a</s>\nUSER: v\nASSISTANT: ");
  EXPECT_EQ(expected_text(layout, asked), text_of(told("", "\n"), asked));
  const std::string words = refusal_of(told("", "-END-"));  // what its tokenizer lost may be the end
  EXPECT_NE(words.find("no token of the tokenizer ends an answer"), std::string::npos) << words;
  EXPECT_NE(refusal_of(told("[INST]", "")).find("no token of the tokenizer ends"), std::string::npos);
  ChatTemplate without_end = template_of_text(told("", "\n"));
  without_end.tokens.erase("eos_token");
  EXPECT_THROW(derive_layout(without_end, kNames, chat_renderer()), ConfigError);
}

TEST(ChatTemplates, MayEndAnswersOnlyWhereATurnFollows) {
  SKIP_WITHOUT_JINJA();
  const auto told = [](const std::string& token) {
    return "{%- for m in messages %}{{- '<|im_start|>' + m.role + ': ' + m.content }}"
           "{%- if add_generation_prompt or not loop.last %}{{- '" +
           token +
           "\\n' }}{%- endif %}{%- endfor %}"
           "{%- if add_generation_prompt %}{{- '<|im_start|>assistant: ' }}{%- endif %}";
  };
  const ChatLayout layout = derive_layout(template_of_text(told("</s>")), kNames, chat_renderer());
  EXPECT_EQ(layout.end_use, policy::EndUse::kBetween);
  EXPECT_EQ(layout.rewrites, std::vector<std::string>{policy::rewrites::kNoLastEnd});
  const std::vector<ChatMessage> asked = {
      {"user", "u"}, {"assistant", "a"}, {"user", "v"}, {"assistant", "b\n"}};
  const std::string written = write_chat(layout, asked).text;
  EXPECT_EQ(written, text_of(told("</s>"), asked, false) + "</s>");
  EXPECT_EQ(expected_text(layout, asked), text_of(told("</s>"), asked, false));
  EXPECT_NE(refusal_of(told("<|im_end|>")).find("no token of the tokenizer ends an answer"),
            std::string::npos);
}

TEST(ChatTemplates, MayLeaveASystemMessageOutOnceItIsAnswered) {
  SKIP_WITHOUT_JINJA();
  const std::string text =
      "{%- if messages[0].role == 'system' %}{%- set s = messages[0].content + '\n' %}{%- set messages = "
      "messages[1:] %}"
      "{%- else %}{%- set s = '' %}{%- endif %}{%- for m in messages %}{%- if m.role == 'user' %}"
      "{{- '[INST] ' + (s if loop.last else '') + m.content + '[/INST]' }}{%- else %}{{- ' ' + m.content + "
      "'</s>' }}{%- endif %}{%- endfor %}";
  const ChatLayout layout = derive_layout(template_of_text(text), kNames, chat_renderer());
  EXPECT_FALSE(layout.limits.contains("system message"));
  EXPECT_EQ(layout.rewrites,
            (std::vector<std::string>{policy::rewrites::kNoSystem, policy::rewrites::kSystem}));
  EXPECT_EQ(
      write_chat(layout,
                 std::vector<ChatMessage>{{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"user", "v"}})
          .text,
      "[INST] s\nu[/INST] a</s>[INST] v[/INST]");
}

// What a template makes of a conversation may be one that the layout does not write.
TEST(ChatTemplates, MayLeaveNothingOfAnAnswer) {
  SKIP_WITHOUT_JINJA();
  const std::string text = chatml(
      "(m.content.split('</think>')[-1] if m.role == 'assistant' and not loop.last else m.content) + ('' if "
      "m.content.strip() else '?')");
  ChatLayout layout = derive_layout(template_of_text(text), kNames, chat_renderer());
  EXPECT_TRUE(layout.limits.contains("empty answer"));
  try_layout(layout, template_of_text(text),
             {{{{"user", "a"}, {"assistant", "<think>b</think>\n"}, {"user", "c"}}, true}}, chat_renderer());
}

// A turn that never stood as the layout writes it was not rewritten: the layout is wrong about it.
TEST(ChatTemplates, AreNotFollowedWhereAnEarlierTurnNeverStoodSo) {
  SKIP_WITHOUT_JINJA();
  const std::string text = chatml("(m.content.replace('magic', 'trick') if m.role == 'user' else m.content)");
  ChatLayout layout = derive_layout(template_of_text(text), kNames, chat_renderer());
  EXPECT_THROW(try_layout(layout, template_of_text(text),
                          {{{{"user", "magic"}, {"assistant", "b"}, {"user", "c"}}, true}}, chat_renderer()),
               ConfigError);
}

// Its memory is bounded, whatever the process maps from which it is started.
TEST(ChatTemplates, AreRenderedBesideALargeProcess) {
  SKIP_WITHOUT_JINJA();
  constexpr size_t kMapped = size_t(4) << 30;
  void* mapped =
      ::mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::mallopt(M_TOP_PAD, 0);                    // its heap grows by no more than is asked of it,
  std::vector<std::unique_ptr<char[]>> held;  // and has nothing left
  held.reserve(1 << 20);
  for (size_t size = 1 << 16; size >= 16; size /= 2)
    for (size_t free = ::mallinfo2().fordblks, before = free + 1;
         free < before && held.size() < held.capacity(); before = std::exchange(free, ::mallinfo2().fordblks))
      held.emplace_back(new char[size]);
  const TemplateRenderer renderer;
  EXPECT_EQ(renderer.render(template_of_text("x"), {{{{"user", "a"}}, true}}).at(0).text, "x");
  EXPECT_EQ(renderer.render(template_of_text("{{ ('x' * 2000000000) | length }}"), {{{{"user", "a"}}, true}})
                .at(0)
                .error,
            "MemoryError: ");
  ::munmap(mapped, kMapped);
}

// What an export writes for a folder that had no template.
TEST(ChatTemplates, ThatAreWrittenRenderTheirLayout) {
  SKIP_WITHOUT_JINJA();
  for (const std::string& name : policy::layout_names()) {
    if (name == "auto") continue;
    const ChatLayout& layout = policy::layout_named(name);
    const std::string text = chat_template_text(layout);
    EXPECT_EQ(policy::layout_of_own_template(text)->name, name == "temper" ? "chatml" : name);
    for (const bool with_system : {false, true}) {
      const auto questions = policy::plain_trials(with_system);
      const auto rendered = chat_renderer().render(template_of_text(text), questions);
      for (size_t i = 0; i < questions.size(); ++i)
        ASSERT_EQ(rendered[i].error + rendered[i].text, write_chat(layout, questions[i].messages).text)
            << name;
    }
  }
}

}  // namespace
}  // namespace temper::trainer
