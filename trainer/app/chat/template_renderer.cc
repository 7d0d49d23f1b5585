#include "trainer/app/chat/template_renderer.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/messages.h"
#include "env/box/execute.h"
#include "env/box/lockdown.h"
#include "env/box/namespaces.h"
#include "env/box/private_root.h"
#include "env/box/sched_stat.h"
#include "env/plan/triton/python.h"

namespace temper::trainer {

extern const char* const kRenderProgram;  // render.py

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // a template may print a message as it stands
using policy::ChatQuestion;
using policy::ChatTemplate;
using policy::NoRenderer;
using policy::RenderedChat;
using std::chrono::milliseconds;

constexpr milliseconds kStart{60'000};  // imports of a cold disk
// CPU time of a batch. One of a published template takes some 20 ms, or 5 µs for each character where it looks at each.
constexpr milliseconds kComputing{500};
constexpr size_t kCharactersPerMs = 200;
constexpr milliseconds kWaiting{60'000};  // on a busy machine
// Any two times of a day that have nothing in common, one for every other process.
constexpr const char* kTimes[] = {"09:13:27.518204", "20:46:31.094873"};
constexpr int64_t kMemoryBytes = int64_t(1) << 30;
constexpr int64_t kRootBytes = 1 << 20;
constexpr size_t kBatch = 48;
constexpr const char* kWayOut = "model.chat_format names a known format instead";
constexpr uid_t kNobody = 65534;
constexpr uint64_t kMostReply = 64u << 20;

OrderedJson request_of(const ChatTemplate& chat_template, const char* time, const ChatQuestion* first,
                       const ChatQuestion* last) {
  OrderedJson questions = Json::array();
  for (const ChatQuestion* question = first; question != last; ++question) {
    OrderedJson messages = Json::array();
    for (const policy::ChatMessage& message : question->messages)
      messages.push_back({{"role", message.role}, {"content", message.content}});
    questions.push_back({{"messages", messages}, {"generates", question->generates}});
  }
  return {{"template", chat_template.text},
          {"tokens", chat_template.tokens},
          {"arguments", parse_json_object(chat_template.arguments, "model.chat_arguments")},
          {"clock", chat_template.date + "T" + time},
          {"questions", questions}};
}

milliseconds most_computing(const ChatQuestion* first, const ChatQuestion* last) {
  size_t characters = 0;
  for (const ChatQuestion* question = first; question != last; ++question)
    for (const policy::ChatMessage& message : question->messages) characters += message.content.size();
  return kComputing + milliseconds(characters / kCharactersPerMs);
}

// The process has sent something, or has ended.
bool readable(int socket, milliseconds patience) {
  pollfd poll_fd{socket, POLLIN, 0};
  return ::poll(&poll_fd, 1, int(patience.count())) > 0;
}

}  // namespace

struct TemplateRenderer::Box {
  env::BoxProcess process;
  Fd socket;

  explicit Box(const env::TritonPython& python) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      throw system_error("create a socket pair");
    socket = Fd(pair[0]);
    {
      const Fd theirs(pair[1]);
      process = env::BoxProcess::start([&] { return run(python, theirs.get()); });
    }  // one that ends is seen to end
    const auto message = receive_message(socket.get(), kStart);
    if (!message) throw WorldError("the process that runs chat templates does not start");
  }

  // In the box's first process.
  static int run(const env::TritonPython& python, int socket) try {
    std::vector<std::string> files{"/usr", "/lib", "/lib64", "/dev/null", "/dev/urandom"};
    files.insert(files.end(), python.folders.begin(), python.folders.end());
    env::enter_private_root(kRootBytes, files);
    write_file("/render.py", kRenderProgram);
    // The program limits its memory itself: until it runs, this is a copy of a process that may be larger.
    env::apply_limits({.cpu_s = 600, .file_bytes = 0, .open_files = 64, .processes = 64});
    env::drop_privileges(kNobody);
    env::allow_only_interpreter_calls();
    std::vector<std::string> argv{python.program, "-s", "-B",
                                  "/render.py",   "3",  std::to_string(kMemoryBytes)};
    if (!python.wheels.empty()) argv.push_back(python.wheels);
    return env::execute(argv, {"LC_ALL=C.UTF-8", "PATH=/usr/bin", "HOME=/"}, {socket}, true);
  } catch (const std::exception& e) {
    const std::string text = std::string(e.what()) + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    return 1;
  }

  // Errors: ConfigError where the template computes or writes without end.
  Json ask(const OrderedJson& request, milliseconds most) {
    const env::ProcessClock clock(process.pid());
    const auto used = [&] { return clock.read().value_or(std::chrono::nanoseconds(0)); };
    const auto before = used();
    if (!send_message(socket.get(), request.dump(-1, ' ', false, Json::error_handler_t::replace)))
      throw WorldError("the process that runs chat templates has ended");
    const auto start = std::chrono::steady_clock::now();
    while (!readable(socket.get(), milliseconds(20))) {
      throw_if_slow(most, used() - before > most || std::chrono::steady_clock::now() - start > kWaiting);
    }
    const auto message = receive_message(socket.get(), kWaiting);
    if (!message)
      throw ConfigError("model: its chat template ended the process that ran it; it is not followed; {}",
                        kWayOut);
    return parse_json_object(*message, "the process that runs chat templates",
                             {.bytes = kMostReply, .depth = 8, .values = 1'000'000});
  }

  static void throw_if_slow(milliseconds most, bool slow) {
    if (slow)
      throw ConfigError(
          "model: its chat template computes for more than {} ms on a few conversations; it is not followed; "
          "{}",
          most.count(), kWayOut);
  }
};

TemplateRenderer::TemplateRenderer(std::string python) : python_(std::move(python)) {}
TemplateRenderer::~TemplateRenderer() = default;

const policy::ChatRenderer& chat_renderer() {
  static const TemplateRenderer renderer;
  return renderer;
}

void TemplateRenderer::start_anew() const { box_.reset(); }

std::vector<RenderedChat> TemplateRenderer::render(const ChatTemplate& chat_template,
                                                   const std::vector<ChatQuestion>& questions) const {
  if (!box_) try {
      if (!found_) found_ = std::make_unique<env::TritonPython>(env::find_jinja_python(python_));
      box_ = std::make_unique<Box>(*found_);
      ++starts_;
    } catch (const WorldError& e) {
      throw NoRenderer(e.what());
    }
  std::vector<RenderedChat> all;
  for (size_t from = 0; from < questions.size(); from += kBatch) {
    const ChatQuestion* first = questions.data() + from;
    const ChatQuestion* last = questions.data() + std::min(questions.size(), from + kBatch);
    Json reply;
    try {
      reply =
          box_->ask(request_of(chat_template, kTimes[starts_ % 2], first, last), most_computing(first, last));
    } catch (const std::exception&) {
      box_.reset();
      throw;
    }
    if (reply.contains("refused"))
      throw ConfigError("model: its chat template is none that Jinja reads: {}; {}",
                        printable(reply["refused"].get<std::string>(), 300), kWayOut);
    for (const Json& one : reply.at("rendered"))
      all.push_back({one.value("text", ""), one.value("error", "")});
  }
  return all;
}

}  // namespace temper::trainer
