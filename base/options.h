#pragma once
// Options, each declared once. A struct lists its options in `visit`; reading YAML and key=value overrides,
// --help, the table of docs/reference/options.md and the saved config.yaml are visitors over that one list.
//
//   struct OptimizerOptions {
//     double lr = 1e-6;
//     void visit(OptionVisitor& v) { v.option("lr", lr, {.help = "peak learning rate", .min = 0}); }
//   };
//
// An option's YAML key is its section path joined by dots: optimizer.lr.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/input/near_names.h"

namespace temper {

// What a text without choices is. A path may begin with ~ (base/input/home.h).
enum class TextKind { kUnsaid, kName, kPath };

struct OptionInfo {
  std::string_view help;
  std::string_view unit = "";
  double min = -std::numeric_limits<double>::infinity();  // inclusive, numbers (and each number of a list)
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // strings (and each string of a list); empty: anything
  TextKind text =
      TextKind::kUnsaid;  // must be said of strings without choices: reading them is a failed check else
  // Whether a resumed run may have another value: the option changes neither what is learned nor from what, but how
  // long, where, how fast or in how much memory.
  bool may_change = false;
};

// Names with values of any kind, for a program that is not ours: {enable_thinking: false}. Values are JSON texts.
using OptionMap = std::map<std::string, std::string>;

class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;

  virtual void option(std::string_view name, bool& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, int64_t& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, double& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, std::string& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, std::vector<int64_t>& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, std::vector<double>& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, std::vector<std::string>& value, OptionInfo info) = 0;
  virtual void option(std::string_view name, OptionMap& value, OptionInfo info) = 0;

  template <class Options>
  void section(std::string_view name, Options& options, std::string_view help) {
    begin_section(name, help);
    options.visit(*this);
    end_section();
  }

 protected:
  virtual void begin_section(std::string_view name, std::string_view help) = 0;
  virtual void end_section() = 0;
};

using VisitOptions = std::function<void(OptionVisitor&)>;

// Every problem found in one place, each with where the value came from; thrown together as one ConfigError.
class Problems {
 public:
  // `key` is a dotted path; its origin ("run.yaml:12" or "command line") is put in front where known.
  void add(std::string_view key, std::string text);
  void note_origin(std::string key, std::string origin);
  bool empty() const { return texts_.empty(); }
  void throw_if_any() const;  // ConfigError, one line a problem

 private:
  std::map<std::string, std::string, std::less<>> origins_;
  std::vector<std::string> texts_;
};

// What other programs call an option. Who types that is told ours, or where there is none, the note.
struct OtherName {
  std::string_view
      name;  // "learning_rate", "rollout.n"; "algorithm." is a whole section of another program's
  std::string_view ours = "";
  std::string_view note = "";
};

// "here it is optimizer.lr"; empty where no other program calls anything so. A section may stand in front.
std::string answer_to_other_name(std::string_view name, std::span<const OtherName> others);

// Fills the options from a YAML file (skipped where `path` is empty) and then from "key=value" words, of
// which a later one wins over an earlier one; unset keys keep their defaults. One value stands for a list of
// one, and merge keys (`<<: *base`) are followed. Reports unknown keys (with the nearest known ones), wrong
// types and out-of-range values. The caller adds its own cross-checks to `problems` and then throws.
void read_options(const VisitOptions& visit, const std::string& path,
                  const std::vector<std::string>& overrides, Problems& problems,
                  std::span<const OtherName> others = {});

std::string json_object(const OptionMap& map);  // as one text

std::string options_to_yaml(const VisitOptions& visit);  // reads back to the same values
std::map<std::string, std::string> options_to_map(
    const VisitOptions& visit);                                            // dotted key → value as in YAML
std::set<std::string> options_that_may_change(const VisitOptions& visit);  // dotted keys
// For --help: those that are wanted, lines no longer than `width` where their words allow it.
using WantOption = std::function<bool(const std::string& key, std::string_view help)>;
std::string options_to_help(const VisitOptions& visit, const WantOption& wanted = {}, size_t width = 100);
std::string options_to_markdown(const VisitOptions& visit);  // docs/reference/options.md

}  // namespace temper
