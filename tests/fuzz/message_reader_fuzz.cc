// Messages off a socket, in whatever parts they come.

#include <sys/socket.h>

#include "base/machine/messages.h"
#include "base/process.h"
#include "tests/fuzz/helpers.h"
#include "tests/fuzz/target.h"

namespace temper {

FUZZ_TARGET(message_reader) {
  int pair[2];
  TEMPER_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  const Fd ours(pair[0]);
  Fd theirs(pair[1]);
  fuzz::Front front(bytes.substr(0, 400));
  const size_t part = 1 + front.byte();
  MessageReader reader;
  size_t taken = 0;
  std::string_view rest = front.rest();
  while (!rest.empty()) {
    const std::string_view now = rest.substr(0, part);
    if (::send(theirs.get(), now.data(), now.size(), MSG_NOSIGNAL) != ssize_t(now.size())) break;
    rest.remove_prefix(now.size());
    const auto arrived = reader.read(ours.get());
    for (const std::string& message : arrived.messages) taken += message.size() + 4;
    if (arrived.gone) return;
  }
  theirs = Fd();
  TEMPER_CHECK(taken <= front.rest().size());
  TEMPER_CHECK(reader.read(ours.get()).gone);
}

}  // namespace temper
