// The one file that knows MPI, and the whole of libtemper-mpi.so.

#include "policy/ranks/mpi.h"

#define OMPI_SKIP_MPICXX 1  // MPI in C: its C++ half is another library
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <mutex>
#include <thread>

#include "base/process.h"

namespace temper::policy {
namespace {

// A wait first spins, then leaves the core to whoever it waits for.
constexpr int kSpins = 200;
constexpr auto kNap = std::chrono::microseconds(100);

MPI_Datatype type_of(Number number) { return number == Number::kF32 ? MPI_FLOAT : MPI_DOUBLE; }

int counted(int64_t count) {
  TEMPER_CHECK(count <= std::numeric_limits<int>::max(), "{} numbers in one call", count);
  return int(count);
}

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  MPI_Error_string(result, text, &size);
  throw LostRanks("MPI cannot {}: {}", what, std::string(text, size_t(size)));
}

// MPI_Init waits for all ranks, for ever. Rank 0 gives up first; mpirun then ends the others.
class StartAlarm {
 public:
  StartAlarm(int rank, int size, double patience_s)
      : thread_([=, this] {
          std::unique_lock lock(mutex_);
          const std::chrono::duration<double> patience(patience_s + (rank > 0 ? kAfterRank0_s : 0));
          if (started_.wait_for(lock, patience, [this] { return done_; })) return;
          fmt::print(stderr, "rank {} of {}: not all ranks came to MPI within {:.0f} s\n", rank, size,
                     patience_s);
          std::fflush(stderr);
          ::_exit(kExitWorld);
        }) {}
  ~StartAlarm() {
    {
      const std::scoped_lock lock(mutex_);
      done_ = true;
    }
    started_.notify_all();
    thread_.join();
  }

 private:
  static constexpr double kAfterRank0_s = 3;
  std::mutex mutex_;
  std::condition_variable started_;
  bool done_ = false;
  std::thread thread_;
};

class MpiTransport : public HostTransport {
 public:
  MpiTransport(int rank, int size, double patience_s) {
    const StartAlarm alarm(rank, size, patience_s);
    int level = 0, mpi_rank = 0, mpi_size = 0;
    // Funneled: threads there are, but only the main one speaks MPI.
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level), "start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank), "tell the rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &mpi_size), "tell the size");
    rank_ = rank;
    if (mpi_rank != rank || mpi_size != size || level < MPI_THREAD_FUNNELED)
      throw WorldError(
          "MPI says rank {} of {} (thread level {}), mpirun's variables say {} of {}: is mpirun of the Open "
          "MPI that this program was built with?",
          mpi_rank, mpi_size, level, rank, size);
  }
  explicit MpiTransport(MPI_Comm part) : ranks_(part) {
    check(MPI_Comm_rank(ranks_, &rank_), "tell the rank");
  }

  // Only where all came to the end: after a failure it would wait for the others.
  ~MpiTransport() override {
    if (std::uncaught_exceptions() > 0 || lost_) return;
    if (ranks_ == MPI_COMM_WORLD)
      MPI_Finalize();
    else
      MPI_Comm_free(&ranks_);
  }

  void all_reduce(void* data, int64_t count, Number number) override {
    wait("all-reduce", [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, data, counted(count), type_of(number), MPI_SUM, ranks_, request);
    });
  }

  // MPI leaves the sum at the beginning.
  void reduce_scatter(void* whole, int64_t share_count, Number number) override {
    wait("reduce-scatter", [&](MPI_Request* request) {
      return MPI_Ireduce_scatter_block(MPI_IN_PLACE, whole, counted(share_count), type_of(number), MPI_SUM,
                                       ranks_, request);
    });
    const int64_t bytes = share_count * bytes_of(number);
    std::memmove(static_cast<std::byte*>(whole) + rank_ * bytes, whole, size_t(bytes));
  }

  void all_gather(void* whole, int64_t share_bytes) override {
    const int bytes = counted(share_bytes);
    wait("all-gather", [&](MPI_Request* request) {
      return MPI_Iallgather(MPI_IN_PLACE, bytes, MPI_BYTE, whole, bytes, MPI_BYTE, ranks_, request);
    });
  }

  void broadcast(void* data, int64_t bytes, int root) override {
    wait("broadcast", [&](MPI_Request* request) {
      return MPI_Ibcast(data, counted(bytes), MPI_BYTE, root, ranks_, request);
    });
  }

  std::unique_ptr<HostTransport> part(const std::vector<int>& members, const Exchange&) override {
    MPI_Comm part = MPI_COMM_NULL;
    const int color = members.size() < 2 ? MPI_UNDEFINED : members.front();
    check(MPI_Comm_split(ranks_, color, rank_, &part), "part the ranks");
    return part == MPI_COMM_NULL ? nullptr : std::make_unique<MpiTransport>(part);
  }

 private:
  template <class Start>
  void wait(const char* what, const Start& start) {
    lost_ = true;  // until it is done
    MPI_Request request;
    check(start(&request), what);
    const double begin_s = now_s();
    int done = 0;
    for (int64_t tries = 0;; ++tries) {
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
      if (done) break;
      if (tries > kSpins) std::this_thread::sleep_for(kNap);
      if (now_s() - begin_s > deadline_s)
        throw LostRanks("an {} did not end within {:.0f} s", what, deadline_s);
    }
    lost_ = false;
  }

  MPI_Comm ranks_ = MPI_COMM_WORLD;
  int rank_ = 0;
  bool lost_ = false;
};

}  // namespace
}  // namespace temper::policy

extern "C" temper::policy::HostTransport* temper_make_mpi_transport(int rank, int size, double patience_s) {
  return new temper::policy::MpiTransport(rank, size, patience_s);
}
