#include "base/machine/messages.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace temper {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMaxMessageBytes = 64u << 20;
constexpr size_t kChunkBytes = 64u << 10;

bool receive_all(int socket, char* data, size_t size, Clock::time_point deadline, bool forever) {
  while (size > 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd poll_fd{socket, POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, forever ? -1 : int(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t n = ::recv(socket, data, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= size_t(n);
  }
  return true;
}

}  // namespace

bool send_message(int socket, const std::string& message) {
  if (message.size() > kMaxMessageBytes) return false;
  const uint32_t size = uint32_t(message.size());
  std::string wire(sizeof size, '\0');
  std::memcpy(wire.data(), &size, sizeof size);
  wire += message;
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
  const bool nothing_yet = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  arrived.gone = n <= 0 && !nothing_yet;
  if (n > 0) rest_.append(chunk, 0, size_t(n));
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

}  // namespace temper
