#include "rollout/rollout.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/rng.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"
#include "rollout/conversation.h"
#include "rollout/generator.h"
#include "rollout/trajectory_file.h"

namespace temper::rollout {

using env::Verdict;

namespace {

constexpr uint64_t kSummaryStream = 0x5D44;  // keeps a summary's random numbers apart from its answer's
constexpr double kGpuPatience_s = 1.5;       // of a run that was interrupted, for who holds the GPU
constexpr auto kWait = std::chrono::milliseconds(100);  // then interrupted() is looked at again

uint64_t hash_name(const std::string& name) { return std::stoull(sha256(name).substr(0, 16), nullptr, 16); }

// One trajectory on its way.
struct Line {
  Conversation conversation;
  uint64_t task_hash;
  uint64_t past;              // turns that were shown at the start
  size_t longest_prompt = 0;  // ids behind which an answer and what belongs to it still fit
  bool sums_up = false;       // what it generates is a summary
  int64_t turns() const { return int64_t(conversation.trajectory().turns.size()); }
};

// See Rollout's members of these names.
struct Waits {
  bool stops_when_interrupted, shares_gpu;
  double patience_s;
};

// One call of Rollout::run.
class Run {
 public:
  Run(policy::Policy& policy, const policy::Tokenizer& tokenizer, const policy::ChatFormat& format,
      env::Judge& judge, const RolloutOptions& options, const Waits& waits, uint64_t seed, int64_t step,
      RolloutStats& stats)
      : tokenizer_(tokenizer),
        format_(format),
        judge_(judge),
        options_(options),
        waits_(waits),
        seed_(seed),
        step_(step),
        stats_(stats),
        policy_(policy) {}

  Batch run(const std::vector<RolloutRequest>& requests,
            const std::function<void(int64_t, int64_t)>& progress);

 private:
  void open_lines(const std::vector<RolloutRequest>& requests);
  Line open_line(const RolloutRequest& request, int64_t sample) const;
  FeedbackLimit feedback_limit(int64_t answers) const { return {options_.feedback_limit(), answers}; }
  void ask(size_t line);
  bool goes_on();
  bool gives_up_gpu();
  bool may_generate();
  void generate();
  void answered(const Generation& generation);
  void collect_verdicts();
  void judged(size_t line, const Verdict& verdict);
  bool goes_on(const Line& line, const Verdict& verdict) const;
  void open_turn(size_t line);
  void end(size_t line);
  void note_alike(const std::vector<RolloutRequest>& requests) const;
  void moved();
  std::vector<Trajectory> take_all();
  Batch to_batch(const std::vector<RolloutRequest>& requests, std::vector<Trajectory> trajectories) const;

  const policy::Tokenizer& tokenizer_;
  const policy::ChatFormat& format_;
  env::Judge& judge_;
  const RolloutOptions& options_;
  const Waits waits_;
  const uint64_t seed_;
  const int64_t step_;
  RolloutStats& stats_;
  policy::Policy& policy_;
  std::optional<Generator> generator_;
  std::shared_ptr<void> gpu_;             // held while it generates
  std::optional<policy::Phase> judging_;  // while it waits for verdicts
  double moved_s_ = now_s();              // when the last token or verdict came
  std::optional<double> interrupted_s_;
  bool told_interrupt_ = false;
  std::vector<Line> lines_;                // this rank's, group by group
  std::map<env::Ticket, size_t> tickets_;  // at the judge
  int64_t turns_done_ = 0, turns_left_ = 0;
};

// Ranks take equal stretches of lines: most of a group stays together and shares its prompt.
void Run::open_lines(const std::vector<RolloutRequest>& requests) {
  int64_t all = 0, line = 0;
  for (const RolloutRequest& request : requests) all += request.samples;
  const int64_t rank = policy_.ranks().rank(), size = policy_.ranks().size();
  const int64_t begin = rank * all / size, end = (rank + 1) * all / size;
  std::map<std::string, int64_t>
      samples;  // samples so far; a task that is requested twice continues its count
  for (const RolloutRequest& request : requests) {
    for (int64_t n = 0; n < request.samples; ++n, ++line) {
      const int64_t sample = samples[request.task->name]++;
      if (line < begin || line >= end) continue;
      lines_.push_back(open_line(request, sample));
    }
  }
  turns_left_ = int64_t(lines_.size()) * options_.turns;
}

Line Run::open_line(const RolloutRequest& request, int64_t sample) const {
  Line line{.conversation = {format_, tokenizer_, *request.task, step_, sample, options_.context},
            .task_hash = hash_name(request.task->name),
            .past = request.past.size()};
  const auto taken = int64_t(line.conversation.summary_room()) + options_.max_response_tokens;
  line.longest_prompt = size_t(std::max<int64_t>(0, options_.max_context_tokens - taken));
  line.conversation.show(request.past, line.longest_prompt, feedback_limit(options_.turns));
  return line;
}

// Queues the line's next answer, or the summary of the last.
void Run::ask(size_t index) {
  Line& line = lines_[index];
  const uint64_t turn = line.past + uint64_t(line.turns());
  GenerationRequest request;
  request.id = index;
  request.rng_key = mix_key(
      {seed_, uint64_t(step_), line.task_hash, uint64_t(line.conversation.trajectory().sample), turn});
  if (line.sums_up) request.rng_key = mix_key({request.rng_key, kSummaryStream});
  request.ids = line.conversation.row();
  request.sampling = options_.sampling();
  request.max_new_tokens = line.sums_up ? options_.context.summary_tokens : options_.max_response_tokens;
  request.stop_ids = format_.stop_ids();
  request.keep = line.turns() + (line.sums_up ? 0 : 1) < options_.turns;
  generator_->add(std::move(request));
}

void Run::moved() {
  moved_s_ = now_s();
  policy::made_progress();
}

// Whether there is work left that is worth waiting for.
bool Run::goes_on() {
  if (turns_left_ == 0 || stats_.given_up) return false;
  if (!interrupted()) return true;
  if (waits_.stops_when_interrupted) return false;
  if (!interrupted_s_) interrupted_s_ = now_s();
  stats_.given_up = now_s() - std::max(moved_s_, *interrupted_s_) > waits_.patience_s;
  return !stats_.given_up;
}

// Whether to give up while another process holds the GPU and no work of this run is in progress.
bool Run::gives_up_gpu() {
  if (!interrupted()) return false;
  if (!interrupted_s_) interrupted_s_ = now_s();
  const double start = std::max(moved_s_, *interrupted_s_);
  return waits_.stops_when_interrupted || now_s() - start > std::min(waits_.patience_s, kGpuPatience_s);
}

// If candidates are timed on the policy's own GPU, policy and judge take turns: first everything that can be generated
// is generated, then everything that can be judged is judged.
bool Run::may_generate() {
  if (generator_->idle()) return false;
  if (gpu_ || !waits_.shares_gpu) return true;
  if (!tickets_.empty()) return false;
  gpu_ = judge_.hold_own_gpu([&] { return gives_up_gpu(); });
  stats_.given_up = !gpu_;
  return gpu_ != nullptr;
}

void Run::generate() {
  judging_.reset();
  const double start = now_s();
  const int64_t tokens = generator_->tokens_generated();
  const auto finished = generator_->step();
  if (generator_->tokens_generated() > tokens) moved();
  stats_.generate_s += now_s() - start;
  for (const Generation& generation : finished) answered(generation);
  if (generator_->idle()) gpu_.reset();  // before anything is waited for
}

void Run::answered(const Generation& generation) {
  Line& line = lines_[generation.id];
  if (line.sums_up) {
    line.conversation.add_summary(generation.ids, generation.log_probs);
    line.sums_up = false;
    return open_turn(generation.id);
  }
  const std::string code =
      line.conversation.add_answer(generation.ids, generation.log_probs, generation.stopped);
  const Trajectory& trajectory = line.conversation.trajectory();
  if (trajectory.turns.back().verdict.kind == env::VerdictKind::kFailParse) {
    return judged(generation.id, trajectory.turns.back().verdict);
  }
  tickets_[judge_.submit(trajectory.task, code)] = generation.id;
}

// Waits only where nothing can be generated.
void Run::collect_verdicts() {
  const bool wait = !tickets_.empty() && (generator_->idle() || (waits_.shares_gpu && !gpu_));
  TEMPER_CHECK(!tickets_.empty() || !generator_->idle() || turns_left_ == 0, "{} turns that nobody is at",
               turns_left_);
  if (wait && !judging_) judging_.emplace("judging");
  const double start = now_s();
  const auto arrived = judge_.poll(wait ? kWait : std::chrono::milliseconds(0));
  if (wait) stats_.wait_s += now_s() - start;
  for (const env::Judged& one : arrived) {
    const auto ticket = tickets_.find(one.ticket);
    if (ticket == tickets_.end()) continue;  // of a run that was interrupted
    const size_t line = ticket->second;
    tickets_.erase(ticket);
    ++stats_.judged;
    stats_.cached += one.verdict.cached;
    stats_.again += one.verdict.judged_again && !one.verdict.cached;
    stats_.overturned += one.verdict.overturned && !one.verdict.cached;
    judged(line, one.verdict);
  }
}

void Run::judged(size_t index, const Verdict& verdict) {
  Line& line = lines_[index];
  line.conversation.add_verdict(verdict);
  moved();
  ++turns_done_;
  --turns_left_;
  if (!goes_on(line, verdict)) return end(index);
  if (!line.conversation.context().summarises()) return open_turn(index);
  line.conversation.request_summary();
  line.sums_up = true;
  ask(index);
}

// Our own failure is no feedback, so it ends the trajectory.
bool Run::goes_on(const Line& line, const Verdict& verdict) const {
  return line.turns() < options_.turns && !verdict.infra() &&
         !(options_.stop_on_pass && env::told(verdict).pass());
}

void Run::open_turn(size_t index) {
  Line& line = lines_[index];
  const bool opened =
      line.conversation.open_turn(line.longest_prompt, feedback_limit(options_.turns - line.turns()));
  opened ? ask(index) : end(index);
}

void Run::end(size_t index) {
  turns_left_ -= options_.turns - lines_[index].turns();
  generator_->release(index);
}

// Each rank takes its lines of these.
void Run::note_alike(const std::vector<RolloutRequest>& requests) const {
  policy::Communicator& ranks = policy_.ranks();
  if (ranks.size() == 1) return;
  for (const RolloutRequest& request : requests)
    ranks.note(policy::lasting_name("samples of " + request.task->name), uint64_t(request.samples));
}

// Every rank's trajectories, in the order of the lines.
std::vector<Trajectory> Run::take_all() {
  std::vector<Trajectory> mine, all;
  for (Line& line : lines_) mine.push_back(line.conversation.take());
  policy::Communicator& ranks = policy_.ranks();
  if (ranks.size() == 1) return mine;
  stats_.given_up = ranks.any(stats_.given_up, "trajectories");
  for (const std::string& bytes : ranks.all_gather(to_bytes(mine), "trajectories"))
    for (Trajectory& trajectory : trajectories_from_bytes(bytes)) all.push_back(std::move(trajectory));
  if (policy::fail_if_asked("batch") == "flip") all.front().segments.front().ids.back() ^= 1;  // for tests
  stats_.tokens = int64_t(ranks.sum(double(stats_.tokens), "statistics of generated tokens"));
  stats_.judged = int64_t(ranks.sum(double(stats_.judged), "statistics of judged answers"));
  stats_.cached = int64_t(ranks.sum(double(stats_.cached), "statistics of cached verdicts"));
  stats_.again = int64_t(ranks.sum(double(stats_.again), "statistics of second verdicts"));
  stats_.overturned = int64_t(ranks.sum(double(stats_.overturned), "statistics of overturned verdicts"));
  return all;
}

Batch Run::to_batch(const std::vector<RolloutRequest>& requests, std::vector<Trajectory> trajectories) const {
  Batch batch;
  batch.step = step_;
  auto next = trajectories.begin();
  for (const RolloutRequest& request : requests) {
    Group group;
    group.task = request.task->name;
    for (int64_t n = 0; n < request.samples; ++n) group.samples.push_back(std::move(*next++));
    batch.groups.push_back(std::move(group));
  }
  return batch;
}

Batch Run::run(const std::vector<RolloutRequest>& requests,
               const std::function<void(int64_t, int64_t)>& progress) {
  const policy::Phase phase("rollout");
  note_alike(requests);
  open_lines(requests);
  if (!lines_.empty()) {
    const double start = now_s();
    generator_.emplace(policy_, std::min<int64_t>(options_.max_sequences, int64_t(lines_.size())),
                       options_.max_context_tokens);
    stats_.cache_s = now_s() - start;
    for (size_t line = 0; line < lines_.size(); ++line) ask(line);
  }
  while (goes_on()) {
    const int64_t before = turns_done_;
    if (may_generate()) generate();
    collect_verdicts();
    const bool tells = turns_done_ > before || (interrupted() && !std::exchange(told_interrupt_, true));
    if (progress && tells) progress(turns_done_, turns_done_ + turns_left_);
  }
  judging_.reset();
  gpu_.reset();
  if (generator_) stats_.tokens = generator_->tokens_generated();
  return to_batch(requests, take_all());
}

}  // namespace

void RolloutOptions::visit(OptionVisitor& v) {
  v.option("tasks_per_step", tasks_per_step, {.help = "tasks per step", .min = 1});
  v.option("samples_per_task", samples_per_task, {.help = "trajectories sampled for each task, N", .min = 1});
  v.option("turns", turns, {.help = "largest number of answers in a trajectory, M", .min = 1});
  v.option("stop_on_pass", stop_on_pass, {.help = "end a trajectory at its first PASS"});
  v.option("temperature", temperature, {.help = "sampling temperature; 0 is greedy", .min = 0});
  v.option("top_p", top_p,
           {.help = "sample from the most likely tokens with this total probability; learning uses "
                    "the same distribution",
            .min = 1e-6,
            .max = 1});
  v.option("top_k", top_k,
           {.help = "sample from this many most likely tokens and any that are as likely as the "
                    "last of them; 0 for all",
            .min = 0});
  v.option("max_response_tokens", max_response_tokens,
           {.help = "largest length of an answer", .unit = "tokens", .min = 1});
  v.option("max_context_tokens", max_context_tokens,
           {.help = "largest length of a row, prompt and answer together; a turn that might not fit "
                    "is not begun",
            .unit = "tokens",
            .min = 2});
  v.option("max_sequences", max_sequences,
           {.help = "sequences generated at once", .min = 1, .may_change = true});
  v.option("feedback_bytes", feedback_bytes,
           {.help = "largest length of a verdict in the next turn's prompt, reduced if needed to "
                    "leave room for later answers. Up to 400 it is one short message; above that it "
                    "contains all compiler errors and what is wrong with each output. 0 for a "
                    "quarter of max_context_tokens",
            .unit = "bytes",
            .min = 0,
            .max = double(env::kMaxDetailsBytes)});
  v.section("context", context, "what a turn is shown of earlier ones");
  v.section("prompt", context.prompt, "in which words tasks are asked and verdicts told");
}

size_t RolloutOptions::feedback_limit() const {
  return size_t(feedback_bytes > 0 ? feedback_bytes : max_context_tokens / 4);
}

Rollout::Rollout(policy::Policy& policy, const policy::Tokenizer& tokenizer, env::Judge& judge,
                 RolloutOptions opts, uint64_t seed)
    : options(std::move(opts)),
      shares_gpu(policy.options().on_gpu() && judge.judges_on_own_gpu()),
      policy_(policy),
      tokenizer_(tokenizer),
      judge_(judge),
      format_(tokenizer),
      seed_(seed) {
  for (const env::Task& task : judge.tasks()) check_prompt_fits(task);
}

void Rollout::check_prompt_fits(const env::Task& task) const {
  const Conversation conversation(format_, tokenizer_, task, 0, 0, options.context);
  const auto prompt = int64_t(conversation.row().size()), summary = int64_t(conversation.summary_room());
  const int64_t needed = prompt + options.max_response_tokens + summary;
  if (needed <= options.max_context_tokens) return;
  throw ConfigError(
      "rollout.max_context_tokens is {}: task {} needs at least {} (a prompt of {}, max_response_tokens "
      "{}{})",
      options.max_context_tokens, task.name, needed, prompt, options.max_response_tokens,
      summary > 0 ? fmt::format(", a summary of {} with its request", summary) : "");
}

Batch Rollout::run(int64_t step, const std::vector<RolloutRequest>& requests,
                   const std::function<void(int64_t, int64_t)>& progress) {
  stats_ = {};
  const Waits waits{stops_when_interrupted, shares_gpu, patience_s};
  return Run(policy_, tokenizer_, format_, judge_, options, waits, seed_, step, stats_)
      .run(requests, progress);
}

}  // namespace temper::rollout
