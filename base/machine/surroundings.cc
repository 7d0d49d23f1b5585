#include "base/machine/surroundings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <locale>

namespace temper {

void begin_process() {
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; ++standard)
    if (::fcntl(standard, F_GETFD) < 0 && errno == EBADF)
      (void)::open("/dev/null", O_RDWR);  // gets the lowest number
  ::setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 0);
  std::locale::global(std::locale::classic());
  const mode_t asked = ::umask(S_IRWXG | S_IRWXO);
  ::umask(asked & (S_IRWXG | S_IRWXO));
}

}  // namespace temper
