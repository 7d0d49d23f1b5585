#include "env/gpu/descriptor.h"

#include <poll.h>
#include <sys/socket.h>

#include <cstring>

namespace temper::env {
namespace {

struct Packet {
  char byte = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&byte, 1};
  msghdr header{};
  Packet() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
};

}  // namespace

bool send_descriptor(int socket, int descriptor) {
  Packet packet;
  cmsghdr* const rights = CMSG_FIRSTHDR(&packet.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  return ::sendmsg(socket, &packet.header, MSG_NOSIGNAL) == 1;
}

Fd receive_descriptor(int socket, std::chrono::milliseconds timeout) {
  pollfd ready{socket, POLLIN, 0};
  Packet packet;
  if (::poll(&ready, 1, int(timeout.count())) <= 0 ||
      ::recvmsg(socket, &packet.header, MSG_CMSG_CLOEXEC) != 1)
    return Fd();
  const cmsghdr* const rights = CMSG_FIRSTHDR(&packet.header);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS || rights->cmsg_len != CMSG_LEN(sizeof(int)))
    return Fd();
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
  return Fd(descriptor);
}

}  // namespace temper::env
