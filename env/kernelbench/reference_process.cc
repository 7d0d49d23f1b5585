#include "env/kernelbench/reference_process.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/error.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr seconds kLoadPatience{600};  // gigabytes of random numbers are drawn on one core
constexpr seconds kReferencePatience{120};

// On a core we make the exchange, and the reference makes it as long as it needs. Nobody can make it shorter again. On a GPU
// the reference makes it and hands it to us.
Fd exchange_of(const ModuleBoxOptions& options) {
  if (options.device != "cpu") return Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Fd file(::memfd_create("exchange", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw system_error("make an exchange");
  return file;
}

const char* name_of(ModuleRules rules) { return rules == ModuleRules::kComparable ? "comparable" : "strict"; }

}  // namespace

ReferenceProcess::ReferenceProcess(const ModuleBoxOptions& options)
    : exchange_(exchange_of(options)),
      process_(options, {.program = "reference_main.py",
                         .arguments = {"--device", options.device},
                         .descriptors = {exchange_.get(), clock_.file()},
                         .trusted = true}),
      watch_(process_.pid()) {}

Json ReferenceProcess::ask(const Json& request, std::chrono::nanoseconds patience) {
  ModuleFrame frame = process_.ask(request, patience);
  if (!frame.json) throw WorldError("the reference does not answer ({})", frame.end);
  try {
    if (status_in(*frame.json) == "ok" || status_in(*frame.json) == "failed") return std::move(*frame.json);
    throw ConfigError("status is '{}'", status_in(*frame.json));
  } catch (const ConfigError& e) {
    throw WorldError("the reference answers oddly: {}", e.what());
  }
}

ReferenceProcess::Loaded ReferenceProcess::load(const Task& task) {
  process_.wait_ready();
  TEMPER_CHECK(task.module.has_value(), "{}", task.name);
  const Json reply = ask({{"op", "load"},
                          {"name", task.name},
                          {"source", task.reference},
                          {"precision", task.module->precision},
                          {"tolerance", task.module->tolerance},
                          {"trials", task.module->correct_trials}},
                         kLoadPatience);
  try {
    Loaded loaded;
    if (status_in(reply) != "ok") {
      loaded.problem = scrub(reply.value("message", reply.value("reason", "fails")));
      return loaded;
    }
    loaded.facts = facts_in(reply);
    // Each answer brings a descriptor, most of them of the memory that is known.
    if (Fd told = process_.descriptor(); told && loaded.facts.generation != generation_) {
      exchange_ = std::move(told);
      exchange_bytes_ = loaded.facts.exchange_bytes;
      generation_ = loaded.facts.generation;
    }
    return loaded;
  } catch (const ConfigError& e) {
    throw WorldError("the reference answers oddly: {}", e.what());
  }
}

Json ReferenceProcess::make_weights(ModuleRules rules, const std::string& key) {
  Json reply = ask({{"op", "weights"}, {"kind", name_of(rules)}, {"key", key}}, kReferencePatience);
  if (!reply.contains("weights") || !reply.at("weights").is_array())
    throw WorldError("the reference makes no weights: {}", scrub(reply.dump()));
  return reply.at("weights");
}

ReferenceProcess::Placed ReferenceProcess::place(const ModuleDraw& draw) {
  Json reply = ask({{"op", "place"}, {"kind", name_of(draw.rules)}, {"trial", draw.trial}, {"key", draw.key}},
                   kReferencePatience);
  if (!reply.contains("inputs") || !reply.contains("outputs"))
    throw WorldError("the reference places no call: {}", scrub(reply.dump()));
  return {std::move(reply.at("inputs")), std::move(reply.at("outputs"))};
}

void ReferenceProcess::draw() {
  const Json reply = ask({{"op", "draw"}, {"number", number_}}, kReferencePatience);
  if (status_in(reply) != "ok") throw WorldError("the reference draws no inputs: {}", scrub(reply.dump()));
}

std::chrono::nanoseconds ReferenceProcess::take(Step step) {
  watch_.begin();
  clock_.say(ClockPage::Word::kStep, uint64_t(step));
  clock_.say(ClockPage::Word::kGo, ++number_);
  if (step == Step::kLeave) return {};
  const auto wait =
      clock_.wait(ClockPage::Word::kDone, number_, kReferencePatience, [&] { return process_.heard(); });
  if (wait.end != ClockPage::End::kDone) throw WorldError("the reference takes no part in a call");
  return watch_.waited(wait.ended, wait.unseen);
}

void ReferenceProcess::leave() {
  take(Step::kLeave);
  const ModuleFrame frame = process_.receive(kReferencePatience);
  if (!frame.json) throw WorldError("the reference does not answer ({})", frame.end);
  if (status_in(*frame.json) != "ok")
    throw WorldError("the reference fails in a call: {}", scrub(frame.json->dump()));
}

ModuleComparison ReferenceProcess::compare() {
  const Json reply = ask({{"op", "compare"}}, kReferencePatience);
  try {
    return comparison_in(reply);
  } catch (const ConfigError& e) {
    throw WorldError("the reference does not compare: {}: {}", e.what(), scrub(reply.dump()));
  }
}

}  // namespace temper::env
