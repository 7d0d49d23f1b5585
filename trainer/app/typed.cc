#include "trainer/app/typed.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/input/near_names.h"
#include "base/input/printable.h"
#include "base/input/scalars.h"
#include "trainer/app/help.h"
#include "trainer/config/config.h"
#include "trainer/config/other_names.h"

namespace temper::trainer {
namespace {

using Words = std::vector<std::string>;

void take_help(Words& words) {
  if (words.empty()) return;
  if (words[0] == "--version" || words[0] == "-V") words[0] = "version";
  if (words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word)
    if (*word == "--help-all") {
      *word = "--help";
      show_everything();
    }
}

// The command that the first words name; `at` comes to stand behind them.
const CLI::App& find_command(const CLI::App& app, const Words& words, size_t& at) {
  const std::vector<const CLI::App*> commands = commands_of(app);
  if (commands.empty()) return app;
  if (at == words.size())
    throw ConfigError("{}: a command is needed, one of {}; `{} --help` describes them", full_name(app),
                      fmt::join(names_of_commands(app), ", "), full_name(app));
  const std::string& word = words[at];
  if (word.starts_with('-')) return app;
  for (const CLI::App* command : commands)
    if (command->get_name() == word) return find_command(*command, words, ++at);
  throw ConfigError("{}: unknown command of {}{}; `{} --help` lists them", printable(word), full_name(app),
                    did_you_mean(word, names_of_commands(app)), full_name(app));
}

// The options of one command, and those of a run where it takes them.
class Meaning {
 public:
  explicit Meaning(const CLI::App& command) : command_(command) {
    words_behind_ = command.get_option_no_throw("overrides") != nullptr;
    behind_set_ = command.get_option_no_throw("--set") != nullptr;
    if (takes_keys()) values_ = to_map(RunConfig());
    for (const CLI::Option* option : command.get_options())
      for (const std::string& name : option->get_lnames()) flags_.push_back("--" + name);
    flags_.push_back("--help-all");
  }

  // All words behind the command's name.
  Words read(const Words& words) {
    for (at_ = 0; at_ < words.size() && words[at_] != "--"; ++at_) take(words);
    if (moved_) std::ranges::move(plain_keys_, std::back_inserter(keys_));
    Words all = moved_ ? others_ : with_plain_;
    if (moved_ && behind_set_) all.push_back("--set");
    std::ranges::stable_sort(keys_, {}, &Key::place);
    if (moved_)
      for (const Key& key : keys_) all.push_back(key.word);
    all.insert(all.end(), words.begin() + ptrdiff_t(at_), words.end());
    return all;
  }

 private:
  struct Key {
    size_t place;
    std::string word;
  };

  bool takes_keys() const { return words_behind_ || behind_set_; }

  void keep(const std::string& word) {
    others_.push_back(word);
    with_plain_.push_back(word);
  }

  void take(const Words& words) {
    const std::string& word = words[at_];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!word.starts_with("--")) {
      with_plain_.push_back(word);
      if (words_behind_ && equals != std::string::npos && values_.contains(name))
        plain_keys_.push_back({at_, word});
      else
        others_.push_back(word);
      return;
    }
    if (const CLI::Option* option = command_.get_option_no_throw(name)) {
      keep(word);
      if (equals == std::string::npos && option->get_items_expected_max() > 0 && at_ + 1 < words.size())
        keep(words[++at_]);
      return;
    }
    take_unknown(words, name, equals == std::string::npos ? "" : word.substr(equals));
  }

  // `value`: "=5", or nothing.
  void take_unknown(const Words& words, const std::string& name, const std::string& value) {
    std::string key = name.substr(2);
    std::ranges::replace(key, '-', '_');
    const auto known = values_.find(key);
    if (known == values_.end()) {
      if (const std::string near = did_you_mean(name, flags_); !near.empty())
        throw ConfigError("{}: unknown option of {}{}", printable(name), full_name(command_), near);
      if (!takes_keys() || (value.empty() && key.find('.') == std::string::npos)) refuse(name, key);
    }
    moved_ = true;
    const size_t place = at_;
    const bool flag = known != values_.end() && (known->second == "true" || known->second == "false");
    keys_.push_back(
        {place, value.empty() ? fmt::format("{}={}", key, value_behind(words, flag)) : key + value});
  }

  // Of --run.steps 5. A flag may stand alone.
  std::string value_behind(const Words& words, bool flag) {
    bool ignored = false;
    const bool there = at_ + 1 < words.size() && !words[at_ + 1].starts_with("--");
    if (flag) return there && parse_scalar(words[at_ + 1], ignored) ? words[++at_] : "true";
    if (!there) throw ConfigError("{}: takes a value, as --key=value", printable(words[at_]));
    return words[++at_];
  }

  [[noreturn]] void refuse(const std::string& name, const std::string& key) const {
    std::string answer = takes_keys() ? answer_to_other_name(key, other_names()) : "";
    if (answer.empty() && takes_keys()) {
      Words names;
      for (const auto& [known, value] : values_) names.push_back(known);
      if (const std::string near = did_you_mean(key, names); !near.empty()) answer = near.substr(2);
    }
    if (answer.empty()) answer = fmt::format("`{} --help` lists them", full_name(command_));
    throw ConfigError("{}: unknown option of {}; {}", printable(name), full_name(command_), answer);
  }

  const CLI::App& command_;
  bool words_behind_ = false, behind_set_ = false, moved_ = false;
  std::map<std::string, std::string> values_;
  Words flags_;
  size_t at_ = 0;
  Words others_, with_plain_;  // without and with key=value words
  std::vector<Key> keys_, plain_keys_;
};

}  // namespace

std::vector<std::string> as_meant(const CLI::App& app, std::vector<std::string> words) {
  take_help(words);
  size_t at = 0;
  const CLI::App& command = find_command(app, words, at);
  const Words behind = Meaning(command).read(Words(words.begin() + ptrdiff_t(at), words.end()));
  words.resize(at);
  words.insert(words.end(), behind.begin(), behind.end());
  return words;
}

}  // namespace temper::trainer
