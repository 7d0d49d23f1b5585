#include "env/kernelbench/module_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/messages.h"
#include "env/box/execute.h"
#include "env/box/lockdown.h"
#include "env/box/private_root.h"
#include "env/kernelbench/turns/module_turns.h"
#include "env/task/hub_cache.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr int64_t kRootBytes =
    64 << 20;  // of files: our own, and what comes from candidates never lies there
constexpr const char* kPrograms = "/temper";
constexpr uint32_t kMaxFrameBytes = 64u << 20;
// For a process that has closed its socket to end, so that it is known how. It takes a moment, or many on a busy machine.
constexpr milliseconds kLastWords{2'000};
constexpr time_t kSend_s = 20;    // for a process to read what it is sent
constexpr double kLook_s = 0.25;  // how often it is looked whether we are interrupted
// Of JSON that a stranger's process may have written: its times and tracebacks, and no tensors.
constexpr JsonLimits kFrameLimits{.bytes = 4'000'000, .depth = 16, .values = 200'000};

std::vector<std::string> module_box_files(const ModuleBoxOptions& options) {
  const auto beside = std::filesystem::path(options.lock_up).parent_path() / "lib";
  std::vector<std::string> files{"/usr", "/lib", "/lib64", "/dev/null", "/dev/zero", "/dev/urandom"};
  // Where the loader finds the driver's library, and what torch and the driver ask about processors and memory. Triton
  // calls /sbin/ldconfig, which may be a script, and /usr/local/cuda may be a link into /etc/alternatives.
  for (const char* more : {"/etc/ld.so.cache", "/sys/devices", "/sys/bus/pci",
                           "/sys/kernel/mm/transparent_hugepage", "/sbin", "/bin", "/etc/alternatives"})
    files.emplace_back(more);
  for (const auto* list : {&options.python.folders, &options.nodes})
    files.insert(files.end(), list->begin(), list->end());
  for (const std::string& more : {options.lock_up, options.segments, beside.string()}) files.push_back(more);
  if (!options.huggingface.empty()) files.push_back(options.huggingface);
  return files;
}

// A frame so short that the socket takes it whole. Descriptors go with its first byte.
bool send_with_descriptors(int socket, const std::string& text, const std::vector<int>& descriptors) {
  TEMPER_CHECK(descriptors.size() <= ModuleProcess::kMostDescriptors);
  const uint32_t size = uint32_t(text.size());
  std::string frame(reinterpret_cast<const char*>(&size), sizeof size);
  frame += text;
  iovec part{frame.data(), frame.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(ModuleProcess::kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == ssize_t(frame.size());
}

std::vector<Fd> descriptors_in(const cmsghdr& told) {
  std::vector<Fd> descriptors;
  const size_t count = (told.cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(&told) + i * sizeof(int), sizeof descriptor);
    descriptors.emplace_back(descriptor);
  }
  return descriptors;
}

std::vector<std::string> module_environment(const ModuleBoxOptions& options, const ModuleProgram& program) {
  std::vector<std::string> environment{
      "LC_ALL=C.UTF-8", "PATH=/usr/local/cuda/bin:/usr/bin", "PYTHONPATH=" + options.python.wheels,
      "HOME=/tmp", "USER=temper", "TMPDIR=/tmp", "TRITON_CACHE_DIR=/tmp/triton", "OMP_NUM_THREADS=1",
      "OPENBLAS_NUM_THREADS=1", "CUDA_CACHE_DISABLE=1",
      // A box has no network: without these a problem would try to fetch again and again.
      "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "HF_DATASETS_OFFLINE=1", "HF_HUB_DISABLE_TELEMETRY=1",
      "CUDA_VISIBLE_DEVICES=" + options.gpu_uuid, "TEMPER_LOCKUP=" + options.lock_up,
      fmt::format("TEMPER_LOCKUP_USER={}", options.user),
      fmt::format("TEMPER_LOCKUP_BYTES={}", options.memory_bytes),
      fmt::format("TEMPER_LOCKUP_CPU_S={}", options.cpu_s),
      fmt::format("TEMPER_MODULE_LANES={}", options.lanes),
      fmt::format("TEMPER_LOCKUP_GPU={}", int(options.device != "cpu"))};
  if (!options.huggingface.empty()) environment.push_back("HF_HOME=" + options.huggingface);
  if (options.device != "cpu" && program.forks)
    for (const char* name : {"LD_PRELOAD=", "TEMPER_SEGMENTS="})
      environment.push_back(name + options.segments);
  if (const char* libraries = std::getenv("LD_LIBRARY_PATH"); libraries != nullptr)
    environment.push_back(std::string("LD_LIBRARY_PATH=") + libraries);
  return environment;
}

bool in_scratch(const std::string& folder) {
  return folder == kModuleScratch || folder.starts_with(std::string(kModuleScratch) + "/");
}

// The cache as boxes see it. Links in it, which point from one of its folders to another, stay within.
std::string cache_for_boxes(const std::string& cache) {
  hub_folder(cache);
  const std::string place = std::filesystem::canonical(cache).string();
  if (in_scratch(place))
    throw ConfigError("env.huggingface: {} lies in {}, which is a folder of modules' own: move it elsewhere",
                      cache, kModuleScratch);
  return place;
}

// A module's own folder hides what the machine has there: headers would be missing, and the module would answer for it.
void refuse_scratch(const TritonPython& python) {
  for (const std::string& folder : python.folders)
    if (in_scratch(folder))
      throw WorldError("{} reads {}, and {} is a folder of modules' own: install Python and torch elsewhere",
                       python.program, folder, kModuleScratch);
}

}  // namespace

ModuleBoxOptions module_box_options(const std::string& python, const std::string& huggingface) {
  ModuleBoxOptions options;
  if (!huggingface.empty()) options.huggingface = cache_for_boxes(huggingface);
  options.lock_up = lock_up_library();
  options.segments =
      (std::filesystem::path(options.lock_up).parent_path() / "libtemper-segments.so").string();
  if (!std::filesystem::exists(options.segments))
    throw WorldError("{} is missing: build again", options.segments);
  try {
    options.python = find_triton_python(python);
  } catch (const WorldError& e) {
    throw WorldError("modules of PyTorch run in the Python of candidates in Triton: {}", e.what());
  }
  refuse_scratch(options.python);
  return options;
}

ModuleSockets module_sockets() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  const timeval patience{.tv_sec = kSend_s, .tv_usec = 0};
  ::setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return {Fd(pair[0]), Fd(pair[1])};
}

ModuleProcess::ModuleProcess(const ModuleBoxOptions& options, ModuleProgram program, Fd socket,
                             BoxProcess process)
    : options_(options),
      program_(std::move(program)),
      socket_(std::move(socket)),
      process_(std::move(process)) {}

ModuleProcess::ModuleProcess(const ModuleBoxOptions& options, ModuleProgram program)
    : options_(options), program_(std::move(program)) {
  ModuleSockets sockets = module_sockets();
  socket_ = std::move(sockets.ours);
  std::vector<int> inherited{sockets.theirs.get()};
  inherited.insert(inherited.end(), program_.descriptors.begin(), program_.descriptors.end());
  process_ = BoxProcess::start([&] { return run_box(inherited); });
}

// In the box's first process, which becomes Python. What it prints is nobody's business: a candidate may print without end.
// Where TEMPER_MODULE_ERRORS is set, its errors are shown to whoever looks for a fault of ours.
int ModuleProcess::run_box(const std::vector<int>& descriptors) const {
  enter_private_root(kRootBytes, module_box_files(options_), true);
  make_root_folder(kPrograms, 0755);
  make_root_folder(kModuleScratch, 0777);
  for (const ModuleFile& file : module_files())
    write_file(fmt::format("{}/{}", kPrograms, file.name), file.text);
  if (program_.trusted && !program_.forks) {
    drop_privileges(options_.user);
  } else {  // what locking itself up takes: to mount, and to become a candidate's user
    keep_only_capabilities({CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP});
  }
  std::vector<std::string> argv{options_.python.program, "-s", "-B",
                                fmt::format("{}/{}", kPrograms, program_.program)};
  argv.insert(argv.end(), program_.arguments.begin(), program_.arguments.end());
  return execute(argv, module_environment(options_, program_), descriptors,
                 std::getenv("TEMPER_MODULE_ERRORS") != nullptr);
}

const nlohmann::json& ModuleProcess::wait_ready() {
  if (!ready_.is_null()) return ready_;
  ModuleFrame frame = receive(options_.imports);
  if (!frame.json) throw WorldError("{} does not start ({})", program_.program, frame.end);
  if (frame.json->value("status", "") != "ready")
    throw WorldError("{} does not start: {}", program_.program, printable(frame.json->dump(), 400));
  ready_ = std::move(*frame.json);
  return ready_;
}

bool ModuleProcess::send(const nlohmann::json& request, const std::vector<int>& descriptors) {
  if (!process_.running()) return false;
  const std::string text = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return descriptors.empty() ? send_message(socket_.get(), text)
                             : send_with_descriptors(socket_.get(), text, descriptors);
}

ModuleFrame ModuleProcess::ask(const nlohmann::json& request, nanoseconds patience) {
  if (!send(request)) return {std::nullopt, how_it_ended(false)};
  return receive(patience);
}

ModuleFrame ModuleProcess::receive(nanoseconds patience) {
  const nanoseconds until = lane_clock() + patience;
  const auto bytes = read_frame(patience);
  if (!bytes) return {std::nullopt, how_it_ended(lane_clock() >= until)};
  try {
    return {parse_json_object(*bytes, "the reply", kFrameLimits), ""};
  } catch (const ConfigError&) {
    process_.kill();
    return {std::nullopt, "malformed"};
  }
}

std::optional<std::string> ModuleProcess::receive_bytes(nanoseconds patience) { return read_frame(patience); }

bool ModuleProcess::heard() const {
  pollfd poll_fd{socket_.get(), POLLIN, 0};
  return !process_.running() || ::poll(&poll_fd, 1, 0) > 0;
}

std::optional<std::string> ModuleProcess::read_frame(nanoseconds patience) {
  const nanoseconds until = lane_clock() + patience;
  uint32_t size = 0;
  if (!read_exactly(&size, sizeof size, until) || size > kMaxFrameBytes) return std::nullopt;
  std::string bytes(size, '\0');
  if (!read_exactly(bytes.data(), size, until)) return std::nullopt;
  return bytes;
}

// Descriptors come with the first byte of their frame.
bool ModuleProcess::read_exactly(void* data, size_t bytes, nanoseconds until) {
  for (size_t got = 0; got < bytes;) {
    pollfd poll_fd{socket_.get(), POLLIN, 0};
    const double left_s = std::chrono::duration<double>(until - lane_clock()).count();
    if (left_s <= 0 || interrupted()) return false;
    const int wait_ms = int(std::min(left_s, kLook_s) * 1e3) + 1;
    if (::poll(&poll_fd, 1, wait_ms) <= 0) continue;
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
    iovec part{static_cast<char*>(data) + got, bytes - got};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    const cmsghdr* told = CMSG_FIRSTHDR(&message);
    if (told != nullptr && told->cmsg_level == SOL_SOCKET && told->cmsg_type == SCM_RIGHTS)
      descriptors_ = descriptors_in(*told);
    got += size_t(n);
  }
  return true;
}

// And ends it, if it has not.
std::string ModuleProcess::how_it_ended(bool timed_out) {
  if (interrupted()) {  // nobody waits for the answer any more
    process_.kill();
    return "interrupted";
  }
  if (!process_.running()) return "exit";
  const auto status = process_.wait(timed_out ? milliseconds(0) : kLastWords);
  if (!status) {
    process_.kill();
    return timed_out ? "timeout" : "malformed";
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 128 + SIGABRT) return fmt::format("signal_{}", SIGABRT);
  return WIFEXITED(*status) ? "exit" : describe_wait_status(*status);
}

void ModuleProcess::put_file(const std::string& name, const std::string& content) const {
  TEMPER_CHECK(name.find('/') == std::string::npos && name != ".." && !name.empty(), "{}", name);
  const std::string path = fmt::format("/proc/{}/root{}/{}", process_.pid(), kModuleScratch, name);
  const Fd file(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!file) throw system_error("make a file in a candidate's folder");
  for (size_t written = 0; written < content.size();) {
    const ssize_t n = ::write(file.get(), content.data() + written, content.size() - written);
    if (n <= 0) throw system_error("write a file in a candidate's folder");
    written += size_t(n);
  }
}

}  // namespace temper::env
