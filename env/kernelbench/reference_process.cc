#include "env/kernelbench/reference_process.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"
#include "env/verdict/message.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;
using std::chrono::seconds;

constexpr seconds kLoadPatience{600};  // gigabytes of random numbers are drawn on one core
constexpr seconds kReferencePatience{120};

// On a core we make an exchange, and the reference makes it as long as it needs. Nobody can make it shorter again. On a GPU
// the reference makes it and hands it to us.
Fd exchange_of(const ModuleBoxOptions& options) {
  if (options.device != "cpu") return Fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
  Fd file(::memfd_create("exchange", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw system_error("make an exchange");
  return file;
}

int exchange_number(const ReferenceProcess::Party& party) { return party.baseline ? 0 : 1; }

const char* name_of(ModuleRules rules) { return rules == ModuleRules::kComparable ? "comparable" : "strict"; }

}  // namespace

ReferenceProcess::ReferenceProcess(const ModuleBoxOptions& options)
    : exchanges_{exchange_of(options), exchange_of(options)},
      process_(options, {.program = "reference_main.py",
                         .arguments = {"--device", options.device},
                         .descriptors = {exchanges_[0].get(), exchanges_[1].get(), clock_.file()},
                         .trusted = true}) {}

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

void ReferenceProcess::unload() {
  const Json reply = ask({{"op", "unload"}}, kReferencePatience);
  if (status_in(reply) != "ok") throw WorldError("the reference keeps its problem: {}", scrub(reply.dump()));
}

std::optional<ModuleSizes> ReferenceProcess::sizes(const Task& task) {
  const Json reply = ask({{"op", "sizes"}, {"source", task.reference}, {"precision", task.module->precision}},
                         kReferencePatience);
  if (status_in(reply) != "ok") return std::nullopt;
  const auto bytes = [&](const char* key) { return reply.value(key, int64_t(0)); };
  return ModuleSizes{bytes("inputs"), bytes("weights"), bytes("outputs")};
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
    // Each answer brings descriptors, most of them of the memory that is known.
    std::vector<Fd> told = process_.descriptors();
    if (told.size() == exchanges_.size() && loaded.facts.generation != generation_) {
      std::ranges::move(told, exchanges_.begin());
      exchange_bytes_ = loaded.facts.exchange_bytes;
      generation_ = loaded.facts.generation;
    }
    return loaded;
  } catch (const ConfigError& e) {
    throw WorldError("the reference answers oddly: {}", e.what());
  }
}

Json ReferenceProcess::make_weights(ModuleRules rules, const std::string& key, const Party& party) {
  Json reply =
      ask({{"op", "weights"}, {"kind", name_of(rules)}, {"key", key}, {"exchange", exchange_number(party)}},
          kReferencePatience);
  if (!reply.contains("weights") || !reply.at("weights").is_array())
    throw WorldError("the reference makes no weights: {}", scrub(reply.dump()));
  return reply.at("weights");
}

ReferenceProcess::Placed ReferenceProcess::place(const ModuleDraw& draw, const Party& party) {
  Json reply = ask({{"op", "place"},
                    {"kind", name_of(draw.rules)},
                    {"trial", draw.trial},
                    {"key", draw.key},
                    {"exchange", exchange_number(party)},
                    {"party", party.number}},
                   kReferencePatience);
  if (!reply.contains("inputs") || !reply.contains("outputs"))
    throw WorldError("the reference places no call: {}", scrub(reply.dump()));
  return {std::move(reply.at("inputs")), std::move(reply.at("outputs"))};
}

void ReferenceProcess::draw() {
  const Json reply = ask({{"op", "draw"}, {"number", number_}}, kReferencePatience);
  if (status_in(reply) != "ok") throw WorldError("the reference draws no inputs: {}", scrub(reply.dump()));
}

void ReferenceProcess::take(Step step) {
  clock_.say(ClockPage::Word::kStep, uint64_t(step));
  clock_.say(ClockPage::Word::kGo, ++number_);
  if (step == Step::kLeave) return;
  const auto wait =
      clock_.wait(ClockPage::Word::kDone, number_, kReferencePatience, [&] { return process_.heard(); });
  if (wait.end != ClockPage::End::kDone) throw WorldError("the reference takes no part in a call");
}

void ReferenceProcess::take_segment(const Json& told, const Fd& memory) {
  if (!process_.send(told, {memory.get()})) throw WorldError("the reference takes no part in a call");
  take(Step::kTakeSegment);
}

double ReferenceProcess::idle_us() {
  const Json reply = ask({{"op", "idle"}}, kReferencePatience);
  try {
    return times_in(reply, "us", 1).at(0);
  } catch (const std::exception& e) {
    throw WorldError("the reference does not say whether the GPU is idle: {}", scrub(reply.dump()));
  }
}

void ReferenceProcess::forget_all_but(int64_t party) {
  const Json reply = ask({{"op", "forget"}, {"but", party}}, kReferencePatience);
  if (status_in(reply) != "ok") throw WorldError("the reference keeps memory: {}", scrub(reply.dump()));
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
