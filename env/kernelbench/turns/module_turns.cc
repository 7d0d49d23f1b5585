#include "env/kernelbench/turns/module_turns.h"

#include <fcntl.h>
#include <sys/random.h>

#include <atomic>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/machine/lease.h"
#include "env/box/clock.h"

namespace temper::env {
namespace {

using std::chrono::nanoseconds;

constexpr size_t kSlots = 64;
constexpr std::chrono::milliseconds kMemoryPause{20};
constexpr nanoseconds kAllStopped{10'000'000'000};
// Nobody times calls for longer. A lane that was stopped for so long looks whether the one that did so has ended.
constexpr nanoseconds kLookAfter{2'000'000'000};

ModuleTurns* turns_of_process = nullptr;

uint32_t new_owner() {
  uint32_t owner = 0;
  while (owner == 0)
    if (::getrandom(&owner, sizeof owner, 0) != ssize_t(sizeof owner))
      throw system_error("draw a random number");
  return owner;
}

// What a lane locks of the file for its place.
struct flock byte_at(size_t index) {
  return {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = off_t(index), .l_len = 1, .l_pid = 0};
}

std::string timing_of(const std::string& gpu) { return gpu + "-timing"; }

}  // namespace

// In memory that all lanes of a GPU share. Who stops a lane's processes writes that there.
struct ModuleTurns::Slot {
  std::atomic<int32_t> roots[kMostRoots];
  std::atomic<int64_t> stopped_ns, since_ns;  // before, and when it was stopped now, or 0
  std::atomic<uint32_t> owner;  // who has joined there, by a number of its own; 0 while it joins
  std::atomic<uint32_t> stopper, stopped_by;  // the slot of the lane that did, and its owner then
  std::atomic<int64_t> claimed;               // bytes
  std::atomic<int64_t> waits_ns;              // for memory, since; or 0
};

nanoseconds lane_clock() {
  const nanoseconds now = raw_clock();
  if (turns_of_process == nullptr) return now;
  const ModuleTurns::Slot& mine = turns_of_process->slot(turns_of_process->mine_);
  const int64_t since_ns = mine.since_ns, stopped_ns = mine.stopped_ns;
  if (since_ns == 0) return now - nanoseconds(stopped_ns);
  if (now - nanoseconds(since_ns) > kLookAfter) turns_of_process->go_on_if_left_stopped();
  return nanoseconds(since_ns - stopped_ns);
}

// A place is a byte that its lane has locked, so that it is free again however the lane ends.
ModuleTurns::ModuleTurns(std::string gpu) : gpu_(std::move(gpu)) {
  static_assert(sizeof(Slot) <= 80 && std::atomic<int64_t>::is_always_lock_free);
  const auto path = lease_file(gpu_ + "-lanes");
  file_ = Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file_ || ::ftruncate(file_.get(), kSlots * sizeof(Slot)) != 0)
    throw system_error(fmt::format("open {}", path.string()));
  memory_ = Mapping(file_.get(), kSlots * sizeof(Slot));
  struct flock place = byte_at(0);
  while (::fcntl(file_.get(), F_OFD_SETLK, &place) != 0)
    if (++place.l_start == kSlots) throw WorldError("too many lanes judge modules on {}", gpu_);
  mine_ = size_t(place.l_start);
  Slot& mine = slot(mine_);
  mine.owner = 0;
  tell({});
  mine.stopped_ns = mine.since_ns = mine.claimed = mine.waits_ns = 0;
  mine.owner = new_owner();
  turns_of_process = this;
}

ModuleTurns::~ModuleTurns() {
  turns_of_process = nullptr;
  tell({});
}

ModuleTurns::Slot& ModuleTurns::slot(size_t index) const {
  return reinterpret_cast<Slot*>(memory_.data())[index];
}

bool ModuleTurns::taken(size_t index) const {
  struct flock place = byte_at(index);
  return index == mine_ || (::fcntl(file_.get(), F_OFD_GETLK, &place) == 0 && place.l_type != F_UNLCK);
}

void ModuleTurns::tell(const std::vector<pid_t>& roots) {
  TEMPER_CHECK(roots.size() <= kMostRoots);
  for (size_t i = 0; i < kMostRoots; ++i) slot(mine_).roots[i] = i < roots.size() ? roots[i] : 0;
}

Fd ModuleTurns::hold() const { return lease(timing_of(gpu_)); }

bool ModuleTurns::fits(int64_t bytes, int64_t capacity) const {
  int64_t others = 0;
  for (size_t i = 0; i < kSlots; ++i) {
    if (i == mine_ || !taken(i)) continue;
    const int64_t waits_ns = slot(i).waits_ns;
    if (waits_ns != 0 && waits_ns < slot(mine_).waits_ns) return false;
    others += slot(i).claimed;
  }
  return others == 0 || others + bytes <= capacity;
}

void ModuleTurns::claim(int64_t bytes, int64_t capacity) {
  Slot& mine = slot(mine_);
  mine.claimed = mine.waits_ns = 0;
  if (bytes == 0) return;
  mine.waits_ns = raw_clock().count();
  for (;;) {
    {
      const Fd lock = lease(gpu_ + "-memory");
      if (fits(bytes, capacity)) {
        mine.claimed = bytes;
        mine.waits_ns = 0;
        return;
      }
    }
    if (interrupted()) {
      mine.waits_ns = 0;
      throw WorldError("interrupted while other lanes had the GPU's memory");
    }
    std::this_thread::sleep_for(kMemoryPause);
  }
}

bool ModuleTurns::memory_is_wanted() const {
  for (size_t i = 0; i < kSlots; ++i)
    if (i != mine_ && slot(i).waits_ns != 0 && taken(i)) return true;
  return false;
}

// The lane that has stopped ours has ended meanwhile.
void ModuleTurns::go_on_if_left_stopped() {
  Slot& mine = slot(mine_);
  if (taken(mine.stopper) && slot(mine.stopper).owner == mine.stopped_by) return;
  for (const std::atomic<int32_t>& root : mine.roots)
    if (root != 0) {
      ProcessTree tree(root);
      tree.stop(kAllStopped);  // which finds all of them
      tree.resume();
    }
  if (const int64_t since_ns = mine.since_ns.exchange(0); since_ns != 0)
    mine.stopped_ns += raw_clock().count() - since_ns;
}

ModuleTurns::Alone::Alone(ModuleTurns& turns) : turns_(turns), lock_(turns.hold()) {
  for (size_t i = 0; i < kSlots; ++i) {
    if (i == turns_.mine_ || !turns_.taken(i) || turns_.slot(i).owner == 0) continue;
    Slot& other = turns_.slot(i);
    other.stopper = uint32_t(turns_.mine_);
    other.stopped_by = turns_.slot(turns_.mine_).owner.load();
    other.since_ns = raw_clock().count();
    slots_.push_back(i);
    for (const std::atomic<int32_t>& root : other.roots)
      if (root != 0) stopped_.emplace_back(root).stop(kAllStopped);
  }
}

ModuleTurns::Alone::~Alone() {
  for (ProcessTree& tree : stopped_) tree.resume();
  for (const size_t index : slots_) {
    Slot& other = turns_.slot(index);
    if (const int64_t since_ns = other.since_ns.exchange(0); since_ns != 0)
      other.stopped_ns += raw_clock().count() - since_ns;
  }
}

}  // namespace temper::env
