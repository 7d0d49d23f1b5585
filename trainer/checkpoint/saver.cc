#include "trainer/checkpoint/saver.h"

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "policy/chat/choice.h"
#include "policy/hugging_face/hugging_face.h"
#include "policy/parameters/replicas.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/communicator.h"
#include "policy/threads.h"
#include "trainer/checkpoint/find.h"
#include "trainer/run/console.h"

namespace temper::trainer {
namespace fs = std::filesystem;
namespace {

constexpr auto kGlance = std::chrono::milliseconds(20);  // between looks for other ranks' files
constexpr double kPatienceS =
    90;  // for files that are written to be seen here: network file systems take their time

std::string record_name(int rank) { return fmt::format("rank_{:05}.json", rank); }

void remove_quietly(const fs::path& path) try {
  const auto held = guarded(path);
  std::error_code ignored;
  fs::remove_all(path, ignored);
} catch (const WorldError&) {  // the folder is another start's by now
}

// In place of one of the same name, which goes afterwards: at every moment one of the two is there under it.
void put_in_place(const fs::path& made, const fs::path& target) {
  if (!fs::exists(target)) return rename_path(made, target);
  if (exchange_paths(made, target)) return remove_quietly(made);
  const fs::path before = replaced_name(target);  // list_checkpoints takes it back if it comes to no more
  rename_path(target, before);
  rename_path(made, target);
  remove_quietly(before);
}

template <class F>
std::string failure_of(const F& f) {
  try {
    f();
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

struct Kept {
  fs::path dir;
  double metric;
};

// The complete checkpoints, newest first.
std::vector<Kept> whole_checkpoints(const fs::path& folder) {
  std::vector<Kept> whole;
  for (const fs::path& dir : list_checkpoints(folder)) {
    try {
      whole.push_back({dir, read_checkpoint(dir).manifest.metric});
    } catch (const std::exception&) {
      continue;  // it will be named when the run resumes
    }
  }
  return whole;
}

}  // namespace

std::string share_name(int rank) { return fmt::format("rank_{:05}.safetensors", rank); }

CheckpointSaver::CheckpointSaver(fs::path folder, CheckpointOptions options, Model& model)
    : folder_(std::move(folder)), options_(std::move(options)), model_(model) {}

CheckpointSaver::~CheckpointSaver() {
  if (!thread_.joinable()) return;
  given_up_ = model_.policy.ranks().size() > 1;
  thread_.join();
}

fs::path CheckpointSaver::beside() const { return folder_ / (checkpoint_name(manifest_) + ".tmp"); }

void CheckpointSaver::save(Manifest manifest, uint64_t verdict_bytes) {
  finish();
  policy::Communicator& ranks = model_.policy.ranks();
  ranks.same_calls("checkpoint");
  policy::check_replicas(model_.policy.parameters(), "checkpoint");
  manifest_ = std::move(manifest);
  problem_.clear();
  reason_.clear();
  share_written_ = false;
  given_up_ = all_written_ = false;
  if (ranks.rank() == 0) problem_ = failure_of([this] { make_beside(); });
  if (problem_.empty())
    problem_ = failure_of([this] {
      policy::fail_if_asked("share copy");
      copy_.take(model_.policy.parameters());
    });
  busy_ = true;
  if (agree_on_problems(true)) {
    if (ranks.rank() == 0) remove_quietly(beside());
    return;
  }
  thread_ = std::thread([this, verdict_bytes] { write(verdict_bytes); });
  if (copy_.refers()) finish();
}

void CheckpointSaver::make_beside() const {
  remove_quietly(beside());
  make_folder(beside());
}

// The thread's whole life.
void CheckpointSaver::write(uint64_t verdict_bytes) {
  const auto end = [this](const std::string& problem) {
    const std::lock_guard lock(mutex_);
    share_written_ = true;
    if (problem_.empty()) problem_ = problem;
    changed_.notify_all();
  };
  const bool first = model_.policy.ranks().rank() == 0;
  const std::string problem = failure_of([&] {
    RankRecord own = write_share(verdict_bytes);
    end("");
    if (first) commit(std::move(own));
  });
  if (problem.empty()) {
    if (first) failure_of([this] { prune(); });  // what could not be removed is in nobody's way
    return;
  }
  if (first) remove_quietly(beside());
  end(problem);
}

RankRecord CheckpointSaver::write_share(uint64_t verdict_bytes) {
  const int rank = model_.policy.ranks().rank();
  const fs::path file = beside() / share_name(rank);
  const std::string digest = policy::write_safetensors(file, copy_.tensors(), policy::file_threads(), true);
  policy::fail_if_asked("share");
  RankRecord record{{share_name(rank), fs::file_size(file), digest, true}, copy_.begins(), verdict_bytes};
  if (rank > 0) write_file_atomic(beside() / record_name(rank), nlohmann::json(record).dump());
  return record;
}

RankRecord CheckpointSaver::wait_for_share(int rank) {
  const fs::path path = beside() / record_name(rank);
  for (double since = 0; !fs::exists(path); std::this_thread::sleep_for(kGlance)) {
    if (given_up_) throw WorldError("rank {} did not write its share", rank);
    if (all_written_ && since == 0) since = now_s();
    if (since > 0 && now_s() - since > kPatienceS)
      throw WorldError("rank {}'s share is not seen here: do all ranks share the file system of {}?", rank,
                       folder_.string());
  }
  const auto record = nlohmann::json::parse(read_file(path)).get<RankRecord>();
  fs::remove(path);
  return record;
}

void CheckpointSaver::commit(RankRecord own) {
  manifest_.ranks.push_back(std::move(own));
  for (int rank = 1; rank < model_.policy.ranks().size(); ++rank)
    manifest_.ranks.push_back(wait_for_share(rank));
  policy::export_shape(model_.policy, model_.tokenizer, beside(), {.origin = model_.origin});
  policy::keep_layout(model_.tokenizer, beside());
  for (const auto& entry : fs::directory_iterator(beside()))
    if (entry.path().extension() != ".safetensors") manifest_.files.push_back(digest_of(entry.path()));
  write_file(beside() / "manifest.json", to_text(manifest_));
  sync_path(beside());
  const fs::path target = folder_ / checkpoint_name(manifest_);
  put_in_place(beside(), target);
  sync_path(folder_);
}

// The last `keep` and the best stay; what is damaged too, for people to look at.
void CheckpointSaver::prune() const {
  const std::vector<Kept> whole = whole_checkpoints(folder_);
  const Kept* best = nullptr;
  for (const Kept& one : whole)
    if (!std::isnan(one.metric) && (!best || one.metric > best->metric)) best = &one;
  for (size_t i = size_t(options_.keep); i < whole.size(); ++i)
    if (options_.best.empty() || &whole[i] != best) remove_folder(whole[i].dir);
}

// True if a rank's part has failed: then the save is over, `ended`, or rank 0 will not wait for it.
bool CheckpointSaver::agree_on_problems(bool ended) {
  policy::Communicator& ranks = model_.policy.ranks();
  std::string mine;
  {
    const std::lock_guard lock(mutex_);
    mine = problem_;
  }
  const auto problems = ranks.all_gather(mine, "checkpoint");
  const auto first = std::ranges::find_if(problems, [](const auto& text) { return !text.empty(); });
  if (first == problems.end()) return false;
  if (reason_.empty()) reason_ = *first;  // what follows from it comes later
  given_up_ = true;
  if (!ended) return true;
  busy_ = false;
  ++failed_;
  say("WARNING: {} was not saved: {}; the checkpoints before it are still there", checkpoint_name(manifest_),
      reason_);
  return true;
}

void CheckpointSaver::look() {
  if (busy_ && agree_on_problems(false)) finish();
}

void CheckpointSaver::finish() {
  if (!busy_) return;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return share_written_; });
  }
  if (!agree_on_problems(false)) all_written_ = true;
  thread_.join();
  if (agree_on_problems(true)) return;
  busy_ = false;
}

}  // namespace temper::trainer
