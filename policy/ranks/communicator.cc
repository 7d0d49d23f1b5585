#include "policy/ranks/communicator.h"

#include <ATen/ATen.h>

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/machine/secret.h"
#include "policy/ranks/activity.h"
#include "policy/ranks/flip_a_bit.h"
#include "policy/ranks/mpi.h"
#include "policy/ranks/nccl.h"
#include "policy/ranks/rendezvous.h"
#include "policy/ranks/tcp.h"

namespace temper::policy {
namespace {

Number number_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return Number::kF32;
    case at::kDouble:
      return Number::kF64;
    case at::kBFloat16:
      return Number::kBF16;
    default:
      TEMPER_CHECK(false, "tensor of {}", toString(tensor.scalar_type()));
  }
}

const char* name_of(Number number) {
  return number == Number::kF64 ? "f64" : number == Number::kF32 ? "f32" : "bf16";
}

// CPUs do not add bf16.
bool needs_f32(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.scalar_type() == at::kBFloat16; }

// Whether the host waits for each call, as it would without overlapping.
bool waits_at_once() {
  static const bool waits = [] {
    const char* value = std::getenv("TEMPER_BLOCKING_WAIT");
    return value && std::string(value) == "1";
  }();
  return waits;
}

std::string machine_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

// The cores this process may run on.
std::string core_set() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "";
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core) text += CPU_ISSET(core, &set) ? '1' : '0';
  return text;
}

// How many ranks say the same as this one, and how many of those come before it.
std::pair<int, int> count_alike(const std::vector<std::string>& said, int rank) {
  const std::string& own = said[size_t(rank)];
  return {int(std::ranges::count(said, own)), int(std::count(said.begin(), said.begin() + rank, own))};
}

// Where ranks have made different calls, a size may be another call's numbers.
void check_text_bytes(int64_t bytes, const char* what) {
  constexpr int64_t kMost = int64_t(1) << 36;
  if (bytes < 0 || bytes > kMost)
    throw LostRanks("a text of {} bytes came in \"{}\": the ranks have not made the same calls", bytes, what);
}

}  // namespace

Communicator::Communicator(const RankPlace& place, double patience_s) : rank_(place.rank), size_(place.size) {
  if (size_ == 1) return;
  if (place.launcher == Launcher::kMpi) {
    host_ = make_mpi_transport(rank_, size_, patience_s);
    use_job_secret({broadcast(rank_ == 0 ? job_secret().text : "", 0, "meeting"), "rank 0"});
    find_local_ranks(place.local_rank);
    return;
  }
  Rendezvous rendezvous(place, patience_s);  // on rank 0 it must outlive the others' questions
  const auto exchange = [&](const std::string& text) { return rendezvous.exchange("ring", text); };
  host_ = make_tcp_transport(rank_, size_, exchange, patience_s);
  find_local_ranks(place.local_rank);
}

void Communicator::find_local_ranks(int given) {
  std::tie(local_size_, local_rank_) = count_alike(all_gather(machine_id(), "meeting"), rank_);
  std::tie(core_size_, core_rank_) = count_alike(all_gather(machine_id() + core_set(), "meeting"), rank_);
  if (given >= 0) local_rank_ = given;
}

Transport& Communicator::transport_of(const at::Tensor& tensor) {
  TEMPER_CHECK(tensor.is_contiguous());
  if (tensor.is_cpu()) return *host_;
  TEMPER_CHECK(gpus_, "a tensor on {} before use_gpus()", tensor.device().str());
  return *gpus_;
}

// `count`: numbers as a Collective counts them.
Handle Communicator::start(Operation operation, at::Tensor& data, int64_t count, const char* what, int root,
                           void* sum) {
  if (size_ == 1) return {};
  const CollectiveWait wait(what);
  Handle handle;
  for (int times = wait.times(); times > 0; --times) {
    calls_->add(to_string(operation), what, operation == Operation::kAllGather ? data.numel() : count,
                name_of(number_of(data)));
    const bool sums = operation == Operation::kAllReduce || operation == Operation::kReduceScatter;
    at::Tensor moved = sums && needs_f32(data) ? data.to(at::kFloat) : data;
    auto call =
        transport_of(moved).start({operation, what, moved.data_ptr(), count, number_of(moved), root, sum});
    if (moved.scalar_type() != data.scalar_type()) data.copy_(moved);
    handle = Handle(std::move(call), data);
    if (waits_at_once()) handle.wait_on_host();
  }
  if (wait.flips() && operation == Operation::kAllGather) {
    handle.wait_on_stream();
    flip_a_bit(data);
  }
  return handle;
}

Handle Communicator::start_all_reduce(at::Tensor& values, const char* what) {
  return start(Operation::kAllReduce, values, values.numel(), what);
}

Handle Communicator::start_reduce_scatter(at::Tensor& whole, const char* what) {
  TEMPER_CHECK_EQ(whole.numel() % size_, 0);
  return start(Operation::kReduceScatter, whole, whole.numel() / size_, what);
}

Handle Communicator::start_reduce_scatter(at::Tensor& whole, at::Tensor sum, const char* what) {
  TEMPER_CHECK_EQ(whole.numel(), sum.numel() * size_);
  TEMPER_CHECK(sum.is_contiguous() && sum.scalar_type() == whole.scalar_type());
  if (whole.is_cuda() && size_ > 1)
    return start(Operation::kReduceScatter, whole, sum.numel(), what, 0, sum.data_ptr());
  start(Operation::kReduceScatter, whole, sum.numel(), what);
  sum.copy_(share_of(whole));
  return {};
}

Handle Communicator::start_all_gather(at::Tensor& whole, const char* what) {
  TEMPER_CHECK_EQ(whole.numel() % size_, 0);
  return start(Operation::kAllGather, whole, whole.numel() / size_, what);
}

Handle Communicator::start_broadcast(at::Tensor& values, int root, const char* what) {
  return start(Operation::kBroadcast, values, values.numel(), what, root);
}

at::Tensor Communicator::reduce_scatter(at::Tensor& whole, const char* what) {
  start_reduce_scatter(whole, what).wait_on_stream();
  return share_of(whole);
}

at::Tensor Communicator::share_of(const at::Tensor& whole) const {
  const int64_t share = whole.numel() / size_;
  return whole.narrow(0, rank_ * share, share);
}

void Communicator::barrier(const char* what) { sum(0, what); }

double Communicator::sum(double value, const char* what) {
  if (size_ == 1) return value;
  const CollectiveWait wait(what);
  for (int times = wait.times(); times > 0; --times) {
    calls_->add("all-reduce", what, 1, "f64");
    host_->all_reduce(&value, 1, Number::kF64);
  }
  return value;
}

double Communicator::largest(double value, const char* what) {
  if (size_ == 1) return value;
  const CollectiveWait wait(what);
  calls_->add("maximum", what, 1, "f64");
  std::vector<double> values(size_t(size_), value);
  host_->all_gather(values.data(), sizeof(double));
  return *std::ranges::max_element(values);
}

bool Communicator::any(bool value, const char* what) { return sum(value, what) > 0; }

std::string Communicator::broadcast(std::string text, int root, const char* what) {
  if (size_ == 1) return text;
  const CollectiveWait wait(what);
  calls_->add("broadcast", what, 1, "text");
  auto bytes = int64_t(text.size());
  host_->broadcast(&bytes, sizeof bytes, root);
  check_text_bytes(bytes, what);
  text.resize(size_t(bytes));
  host_->broadcast(text.data(), bytes, root);
  return text;
}

std::vector<std::string> Communicator::all_gather(const std::string& text, const char* what) {
  if (size_ == 1) return {text};
  const CollectiveWait wait(what);
  calls_->add("all-gather", what, 1, "text");
  std::vector<int64_t> sizes(size_t(size_), int64_t(text.size()));
  host_->all_gather(sizes.data(), sizeof(int64_t));
  for (const int64_t bytes : sizes) check_text_bytes(bytes, what);
  const int64_t longest = *std::ranges::max_element(sizes);
  std::string all(size_t(longest) * size_t(size_), '\0');
  std::ranges::copy(text, all.begin() + rank_ * longest);
  host_->all_gather(all.data(), longest);
  std::vector<std::string> texts;
  for (int rank = 0; rank < size_; ++rank)
    texts.push_back(all.substr(size_t(rank * longest), size_t(sizes[size_t(rank)])));
  return texts;
}

std::vector<std::vector<uint64_t>> Communicator::all_gather(const std::vector<uint64_t>& numbers,
                                                            const char* what) {
  const size_t share = numbers.size();
  TEMPER_CHECK(share > 0);
  std::vector<uint64_t> all(share * size_t(size_));
  std::ranges::copy(numbers, all.begin() + int64_t(share) * rank_);
  if (size_ > 1) {
    const CollectiveWait wait(what);
    calls_->add("all-gather", what, int64_t(share), "u64");
    host_->all_gather(all.data(), int64_t(share * sizeof(uint64_t)));
  }
  std::vector<std::vector<uint64_t>> by_rank;
  for (auto at = all.begin(); at != all.end(); at += int64_t(share))
    by_rank.emplace_back(at, at + int64_t(share));
  return by_rank;
}

void Communicator::same_calls(const char* what) {
  if (gpus_) gpus_->wait_for_all();
  const CallTrace::Point mine = calls_->now();
  const auto all = all_gather(std::vector<uint64_t>{mine.digest, mine.calls}, what);
  for (size_t other = 0; other < all.size(); ++other)
    if (all[other] != all[size_t(rank_)])
      throw LostRanks(
          "rank {} and rank {} have not made the same collective calls; the last of {} here is the {}", rank_,
          other, mine.calls, mine.last);
}

// All ranks call it, each with the members of its own group. Ranks keep their local ranks among all, because they share
// a machine with all.
std::unique_ptr<Communicator> Communicator::part(const std::vector<int>& members, const char* what) {
  auto part = std::make_unique<Communicator>();
  part->local_rank_ = local_rank_, part->local_size_ = local_size_;
  part->core_rank_ = core_rank_, part->core_size_ = core_size_;
  if (host_)
    part->host_ = host_->part(members, [&](const std::string& text) { return all_gather(text, what); });
  part->rank_ = int(std::ranges::find(members, rank_) - members.begin());
  part->size_ = int(members.size());
  if (part->host_) part->host_->deadline_s = host_->deadline_s;
  return part;
}

std::unique_ptr<Communicator> Communicator::first(int count, const char* what) {
  std::vector<int> members(rank_ < count ? size_t(count) : 0);
  std::iota(members.begin(), members.end(), 0);
  auto first = part(members, what);
  return members.empty() ? nullptr : std::move(first);
}

std::unique_ptr<Communicator> Communicator::group(const std::vector<int>& members, const char* what) {
  auto group = part(members, what);
  group->calls_ = calls_;
  if (!gpus_ || group->size_ == 1) return group;
  const auto from_first = [&](std::string id) { return group->broadcast(id, 0, "NCCL's start"); };
  group->gpus_ = gpus_->part(group->rank_, group->size_, from_first);
  return group;
}

void Communicator::use_gpus() {
  if (size_ == 1) return;
  const auto from_first = [this](std::string id) { return broadcast(id, 0, "NCCL's start"); };
  gpus_ = make_nccl_transport(rank_, size_, from_first);
  gpus_->deadline_s = host_->deadline_s;
}

void Communicator::set_deadline(double seconds) {
  if (host_) host_->deadline_s = seconds;
  if (gpus_) gpus_->deadline_s = seconds;
}

Communicator& alone() {
  static Communicator communicator;
  return communicator;
}

}  // namespace temper::policy
