#include "base/machine/messages.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/process.h"

namespace temper {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxMessageBytes = 64u << 20;
constexpr size_t kChunkBytes = 64u << 10;
constexpr int64_t kLook_ms = 250;  // then interrupted() is looked at again

std::string wire_of(const std::string& message) {
  const uint32_t size = uint32_t(message.size());
  std::string wire(sizeof size, '\0');
  std::memcpy(wire.data(), &size, sizeof size);
  return wire += message;
}

bool try_again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

bool wait_for_bytes(int socket, Clock::time_point deadline, bool forever) {
  while (!interrupted()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd poll_fd{socket, POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, int(forever ? kLook_ms : std::clamp<int64_t>(left, 0, kLook_ms)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (!forever && left <= 0) return false;
  }
  return false;
}

bool receive_all(int socket, char* data, size_t size, Clock::time_point deadline, bool forever) {
  while (size > 0) {
    if (!wait_for_bytes(socket, deadline, forever)) return false;
    const ssize_t n = ::recv(socket, data, size, MSG_DONTWAIT);
    if (n < 0 && try_again()) continue;
    if (n <= 0) return false;
    data += n;
    size -= size_t(n);
  }
  return true;
}

}  // namespace

bool send_message(int socket, const std::string& message) {
  if (message.size() > kMaxMessageBytes) return false;
  const std::string wire = wire_of(message);
  for (size_t sent = 0; sent < wire.size();) {
    const ssize_t n = ::send(socket, wire.data() + sent, wire.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += size_t(n);
  }
  return true;
}

std::optional<std::string> receive_message(int socket, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const bool forever = timeout.count() < 0;
  uint32_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size, deadline, forever))
    return std::nullopt;
  if (size > kMaxMessageBytes) return std::nullopt;
  std::string message(size, '\0');
  if (!receive_all(socket, message.data(), size, deadline, forever)) return std::nullopt;
  return message;
}

MessageReader::Arrived MessageReader::read(int socket) {
  Arrived arrived;
  std::string chunk(kChunkBytes, '\0');
  const ssize_t n = ::recv(socket, chunk.data(), chunk.size(), MSG_DONTWAIT);
  const bool nothing_yet = n < 0 && try_again();
  arrived.gone = n <= 0 && !nothing_yet;
  if (n > 0) rest_.append(chunk, 0, size_t(n)), bytes_ += uint64_t(n);
  size_t taken = 0;
  for (uint32_t size = 0; rest_.size() - taken >= sizeof size; taken += sizeof size + size) {
    std::memcpy(&size, rest_.data() + taken, sizeof size);
    arrived.gone |= size > most_bytes_;
    if (size > most_bytes_ || rest_.size() - taken - sizeof size < size) break;
    arrived.messages.push_back(rest_.substr(taken + sizeof size, size));
  }
  rest_.erase(0, taken);
  return arrived;
}

bool MessageWriter::add(const std::string& message) {
  if (message.size() > kMaxMessageBytes) return false;
  wire_ += wire_of(message);
  return true;
}

bool MessageWriter::send(int socket) {
  while (left() > 0) {
    const ssize_t n = ::send(socket, wire_.data() + sent_, left(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && try_again()) return true;
    if (n <= 0) return false;
    sent_ += size_t(n);
  }
  wire_.clear();
  sent_ = 0;
  return true;
}

}  // namespace temper
