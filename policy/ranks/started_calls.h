#pragma once
// Collective calls that run on a device while the host goes on. One thread looks at those that are in flight: it
// tells the watch in which of them this rank waits for others, and ends them when one fails or takes too long. Words
// about a call name it: `all-gather "weights of model.norm"`.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace temper::policy {

// One call. Any thread may use it.
class StartedCall {
 public:
  enum class State : uint8_t {
    kQueued,   // the device has not come to it
    kRunning,  // it waits for the other ranks, or their data move
    kDone
  };
  virtual ~StartedCall() = default;
  // Errors: WorldError saying why it will not end.
  virtual State state() = 0;
  // What the calling thread's current stream gets from now on comes after the call. The host does not wait.
  virtual void wait_on_stream() = 0;
  // Ends the call, and all others of its group, on this rank. What they would have given is worthless.
  virtual void give_up() = 0;
};

class StartedCalls {
 public:
  // `begin_thread` is called once on the thread that looks.
  explicit StartedCalls(std::function<void()> begin_thread = [] {});
  ~StartedCalls();
  StartedCalls(const StartedCalls&) = delete;
  StartedCalls& operator=(const StartedCalls&) = delete;

  // Calls are done in the order in which they are added. `kind` and `what` are literals, or of lasting_name(). A call
  // that runs for longer than `deadline_s` has failed. After a failure all calls are given up, and failed_call()
  // (activity.h) says why.
  void add(std::shared_ptr<StartedCall> call, const char* kind, const char* what, double deadline_s);

  // The host waits until none is in flight. Errors: LostRanks with the words of failed_call().
  void wait_for_all();

 private:
  struct InFlight {
    std::shared_ptr<StartedCall> call;
    const char *kind, *what;
    double deadline_s;
    double running_s = -1;  // when it was first seen to run
  };
  void run();
  bool look(InFlight& first);
  void fail(const std::string& why);

  std::function<void()> begin_thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<InFlight> in_flight_;
  bool stopping_ = false;
  std::thread thread_;
};

// For a loop that waits for a device: spins through its first looks, and naps between later ones.
void rest_between_looks(int64_t looks);

// Until the call is done. Errors: LostRanks as above; WorldError of state().
void wait_on_host(StartedCall& call);

}  // namespace temper::policy
