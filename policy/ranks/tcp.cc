#include "policy/ranks/tcp.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <thread>

#include "base/machine/socket.h"
#include "base/process.h"

namespace temper::policy {
namespace {

template <class T>
void add(const std::byte* from, std::byte* to, int64_t count) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

class Ring : public HostTransport {
 public:
  Ring(int rank, int size, double patience_s, Fd next, Fd previous)
      : rank_(rank),
        size_(size),
        patience_s_(patience_s),
        next_(std::move(next)),
        previous_(std::move(previous)) {
    for (const Fd* socket : {&next_, &previous_}) ::fcntl(socket->get(), F_SETFL, O_NONBLOCK);
  }

  void all_reduce(void* data, int64_t count, Number number) override {
    const int64_t width = bytes_of(number);
    const auto piece = [&](int k) {
      return span(data, k * count / size_ * width, (k + 1) * count / size_ * width);
    };
    sum_pieces(piece, number);
    pass_pieces(piece);
  }

  void reduce_scatter(void* whole, int64_t share_count, Number number) override {
    const int64_t bytes = share_count * bytes_of(number);
    sum_pieces([&](int k) { return span(whole, k * bytes, (k + 1) * bytes); }, number);
  }

  void all_gather(void* whole, int64_t share_bytes) override {
    pass_pieces([&](int k) { return span(whole, k * share_bytes, (k + 1) * share_bytes); });
  }

  void broadcast(void* data, int64_t bytes, int root) override {
    const Piece all = span(data, 0, bytes), none = span(data, 0, 0);
    if (rank_ != root) move(none, all);
    if ((rank_ + 1) % size_ != root) move(all, none);
  }

  // Everybody learns all addresses, and each group makes a ring of its own.
  std::unique_ptr<HostTransport> part(const std::vector<int>& members, const Exchange& exchange) override {
    if (members.size() < 2) {
      exchange("");
      return nullptr;
    }
    const auto of_members = [&](const std::string& text) {
      const std::vector<std::string> all = exchange(text);
      std::vector<std::string> texts;
      for (const int member : members) texts.push_back(all.at(size_t(member)));
      return texts;
    };
    const auto own = int(std::ranges::find(members, rank_) - members.begin());
    return make_tcp_transport(own, int(members.size()), of_members, patience_s_);
  }

 private:
  struct Piece {
    std::byte* begin;
    int64_t bytes;
  };

  static Piece span(void* data, int64_t begin, int64_t end) {
    return {static_cast<std::byte*>(data) + begin, end - begin};
  }
  int at(int k) const { return (k % size_ + size_) % size_; }

  // Afterwards this rank's own piece is the sum over all ranks, in the ring's order.
  template <class PieceOf>
  void sum_pieces(const PieceOf& piece, Number number) {
    for (int step = 1; step < size_; ++step) {
      const Piece sent = piece(at(rank_ - step)), summed = piece(at(rank_ - step - 1));
      received_.resize(size_t(summed.bytes));
      move(sent, {received_.data(), summed.bytes});
      const int64_t count = summed.bytes / bytes_of(number);
      number == Number::kF32 ? add<float>(received_.data(), summed.begin, count)
                             : add<double>(received_.data(), summed.begin, count);
    }
  }

  // From each rank's own piece to all of them.
  template <class PieceOf>
  void pass_pieces(const PieceOf& piece) {
    for (int step = 0; step + 1 < size_; ++step) move(piece(at(rank_ - step)), piece(at(rank_ - step - 1)));
  }

  // Sends to the next rank and receives from the previous one at the same time.
  void move(Piece sent, Piece received) {
    double moved_s = now_s();
    while (sent.bytes > 0 || received.bytes > 0) {
      pollfd sockets[] = {{sent.bytes > 0 ? next_.get() : -1, POLLOUT, 0},
                          {received.bytes > 0 ? previous_.get() : -1, POLLIN, 0}};
      const int ready = ::poll(sockets, 2, 1000);
      if (ready > 0) moved_s = now_s();
      if (now_s() - moved_s > deadline_s)
        throw LostRanks("rank {} heard nothing from its neighbours for {:.0f} s", rank_, deadline_s);
      if (sockets[0].revents)
        step(sent, ::send(next_.get(), sent.begin, size_t(sent.bytes), MSG_NOSIGNAL), at(rank_ + 1));
      if (sockets[1].revents)
        step(received, ::recv(previous_.get(), received.begin, size_t(received.bytes), 0), at(rank_ - 1));
    }
  }

  static void step(Piece& piece, ssize_t moved, int peer) {
    if (moved < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (moved <= 0) throw LostRanks("the connection to rank {} broke", peer);
    piece.begin += moved;
    piece.bytes -= moved;
  }

  const int rank_, size_;
  const double patience_s_;
  Fd next_, previous_;
  std::vector<std::byte> received_;
};

}  // namespace

std::unique_ptr<HostTransport> make_tcp_transport(int rank, int size, const Exchange& exchange,
                                                  double patience_s) {
  Listener listener;
  const std::vector<std::string> addresses = exchange(temper::to_text(listener.address()));
  const double until_s = now_s() + patience_s;
  const int next_rank = (rank + 1) % size, previous_rank = (rank + size - 1) % size;
  // Accepts while it connects: otherwise all would wait for each other.
  Fd next;
  std::thread connecting(
      [&] { next = connect_to(address_from(addresses.at(size_t(next_rank))), rank, until_s); });
  auto previous = listener.accept(until_s);
  connecting.join();
  if (!next) throw LostRanks("rank {} cannot reach rank {} within {:.0f} s", rank, next_rank, patience_s);
  if (!previous || previous->first != previous_rank)
    throw LostRanks("rank {} did not reach rank {} within {:.0f} s", previous_rank, rank, patience_s);
  return std::make_unique<Ring>(rank, size, patience_s, std::move(next), std::move(previous->second));
}

}  // namespace temper::policy
