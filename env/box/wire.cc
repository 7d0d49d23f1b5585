#include "env/box/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace temper::env {

bool send_packet(int socket, const void* message, size_t bytes) {
  return ::send(socket, message, bytes, MSG_NOSIGNAL) == ssize_t(bytes);
}

bool receive_packet(int socket, void* message, size_t bytes, std::chrono::milliseconds timeout) {
  pollfd ready{socket, POLLIN, 0};
  int n;
  do n = ::poll(&ready, 1, int(timeout.count()));
  while (n < 0 && errno == EINTR);
  return n > 0 && ::recv(socket, message, bytes, MSG_TRUNC | MSG_DONTWAIT) == ssize_t(bytes);
}

}  // namespace temper::env
