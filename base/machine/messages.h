#pragma once
// Length-prefixed messages over a stream socket, between processes that trust each other.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace temper {

// False if the peer is gone.
bool send_message(int socket, const std::string& message);

// Nothing if the peer is gone, sends more than 64 MiB in one message, or stays silent past the timeout
// (negative: wait for ever); and nothing, at the latest a quarter of a second later, once this process is
// interrupted().
std::optional<std::string> receive_message(int socket,
                                           std::chrono::milliseconds timeout = std::chrono::milliseconds(-1));

// For whoever hears many peers: takes what has arrived and waits for nothing, so that a message whose second
// half is late holds nobody up and is not taken for the peer's end.
class MessageReader {
 public:
  MessageReader() = default;
  explicit MessageReader(uint32_t most_bytes) : most_bytes_(most_bytes) {}  // in one message

  struct Arrived {
    std::vector<std::string> messages;  // the whole ones
    bool gone = false;                  // after them: the peer left, or sends more in one message
  };
  Arrived read(int socket);
  uint64_t bytes() const { return bytes_; }  // that have arrived, in all

 private:
  uint32_t most_bytes_ = 64u << 20;
  std::string rest_;  // the received part of an incomplete message
  uint64_t bytes_ = 0;
};

// For whoever must not wait for a peer to read: keeps what the socket does not take at once.
class MessageWriter {
 public:
  bool add(const std::string& message);  // false: it is longer than 64 MiB
  bool send(int socket);                 // as much as the socket takes; false if the peer is gone
  size_t left() const { return wire_.size() - sent_; }

 private:
  std::string wire_;
  size_t sent_ = 0;
};

}  // namespace temper
