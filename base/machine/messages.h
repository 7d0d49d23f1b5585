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
// (negative: wait for ever).
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

 private:
  uint32_t most_bytes_ = 64u << 20;
  std::string rest_;  // of a message that is not whole yet
};

}  // namespace temper
