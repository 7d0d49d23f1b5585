#include "env/plan/triton/box.h"

#include <linux/capability.h>
#include <sys/socket.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/messages.h"
#include "env/box/execute.h"
#include "env/box/lockdown.h"
#include "env/box/private_root.h"
#include "env/plan/planner.h"

namespace temper::env {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kImports{120'000};  // imports of a cold disk
constexpr milliseconds kGrace{20'000};     // beyond a candidate's own limit, which the box keeps
constexpr int64_t kBoxBytes = 64 << 20;  // of files: our own, and what comes from candidates never lies there
constexpr const char* kFolder = "/temper";
constexpr const char* kScratch = "/tmp";

// What of the machine's files is there. The library has its own libraries in a folder beside it where Temper was installed so. The
// C library asks the last whether memory can lie in huge pages, which makes forks cheaper.
std::vector<std::string> files_of(const TritonBoxOptions& options) {
  const auto beside = std::filesystem::path(options.lock_up).parent_path() / "lib";
  std::vector<std::string> files{"/usr", "/lib", "/lib64", "/dev/null", "/dev/urandom"};
  files.insert(files.end(), options.python.folders.begin(), options.python.folders.end());
  for (const std::string& more :
       {options.lock_up, beside.string(), std::string("/sys/kernel/mm/transparent_hugepage")})
    files.push_back(more);
  return files;
}

std::string text_of(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json.at(key).is_string() ? json.at(key).get<std::string>() : "";
}

}  // namespace

TritonBoxOptions triton_box_options(const std::string& python) {
  return {.python = find_triton_python(python), .lock_up = lock_up_library()};
}

TritonBox::TritonBox(TritonBoxOptions options) : options_(std::move(options)) { start(); }

void TritonBox::start() {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    throw system_error("create a socket pair");
  socket_ = Fd(pair[0]);
  const Fd theirs(pair[1]);
  ready_ = false;
  process_ = BoxProcess::start([&] { return run_box(theirs.get()); });
}

// In the box's first process. Its words go to its error output, which is ours.
int TritonBox::run_box(int socket) const {
  enter_private_root(kBoxBytes, files_of(options_));
  make_root_folder(kFolder, 0755);
  make_root_folder(kScratch, 0777);
  for (const TritonFile& file : triton_files())
    write_file(fmt::format("{}/{}", kFolder, file.name), file.text);
  // What making namespaces, mounting in them, becoming a candidate's user and ending its processes takes.
  keep_only_capabilities({CAP_SYS_ADMIN, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL});
  return execute({options_.python.program, "-s", "-B", fmt::format("{}/zygote.py", kFolder)},
                 {"LC_ALL=C.UTF-8", "PATH=/usr/bin", "PYTHONPATH=" + options_.python.wheels, "HOME=/tmp",
                  "USER=temper", "TMPDIR=/tmp", "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=",
                  "TEMPER_LOCKUP=" + options_.lock_up, fmt::format("TEMPER_LOCKUP_USER={}", options_.user)},
                 {socket}, true);
}

void TritonBox::give_up(const std::string& what) {
  std::string ending;
  if (const auto status = process_.running() ? process_.wait(milliseconds(2000)) : std::nullopt)
    ending = " (" + describe_wait_status(*status) + ")";
  process_.kill();
  throw WorldError("the box of Triton candidates {}{}", what, ending);
}

void TritonBox::wait_ready() {
  if (!process_.running()) start();
  if (ready_) return;
  const auto message = receive_message(socket_.get(), kImports);
  if (!message) give_up("does not start");
  const nlohmann::json json = parse_json_object(*message, "the box of Triton candidates");
  if (json.value("ready", false) != true)
    give_up("does not start: " + printable(text_of(json, "error"), 400));
  // A box that cannot lock up a candidate is found out before there is one.
  Task nothing;
  nothing.language = kTriton.name;
  const auto frames = answer_to(triton_request(nothing, "", {}, {}, options_));
  if (frames.empty()) throw WorldError("the box of Triton candidates does not answer");
  const TritonReply answer = read_triton_reply(frames, {});
  if (!answer.infra.empty()) give_up("does not start: " + answer.infra);
  ready_ = true;
}

// The frames of the answer; none if a candidate keeps the box from answering. What forks has seen to it that they are as
// many as the first one says. Where that is not to be understood, neither is the rest of the stream, and the box is ended.
std::vector<std::string> TritonBox::answer_to(const std::string& request) {
  if (!send_message(socket_.get(), request)) give_up("takes no candidate");
  std::vector<std::string> frames;
  const double late_s = now_s() + std::chrono::duration<double>(options_.wall + kGrace).count();
  const auto next = [&](milliseconds patience) {
    auto frame = receive_message(socket_.get(), patience);
    if (frame) frames.push_back(std::move(*frame));
    return frame.has_value();
  };
  if (!next(options_.wall + kGrace)) {
    // No machine is to blame where the box lives and its time has passed.
    if (now_s() < late_s || process_.wait(milliseconds(0))) give_up("does not answer");
    process_.kill();
    return {};
  }
  const auto cubins = count_cubins(frames[0]);
  if (!cubins) process_.kill();
  for (int64_t i = 0; i < cubins.value_or(0); ++i)
    if (!next(kGrace)) give_up("does not answer");
  return frames;
}

TritonReply TritonBox::plan(const Task& task, const std::string& source, const std::vector<Shape>& shapes,
                            const GpuTarget& target) {
  wait_ready();
  const double start = now_s();
  const std::vector<std::string> frames = answer_to(triton_request(task, source, shapes, target, options_));
  if (frames.empty()) {
    TritonReply late;
    late.failure = Finding{VerdictKind::kFailPlan, "timeout", "launch takes too long on the host"};
    return late;
  }
  TritonLimits limits{.buffers = {},
                      .target = target,
                      .workspace_bytes = options_.workspace_bytes,
                      .wall_ms = (now_s() - start) * 1e3};
  for (const Shape& shape : shapes) limits.buffers.push_back(plan_buffers(task, shape));
  TritonReply reply = read_triton_reply(frames, limits);
  if (!reply.infra.empty()) give_up("fails: " + reply.infra);
  return reply;
}

}  // namespace temper::env
