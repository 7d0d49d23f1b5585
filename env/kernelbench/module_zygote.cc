#include "env/kernelbench/module_zygote.h"

#include "base/error.h"
#include "base/input/printable.h"

namespace temper::env {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kForkPatience{60};  // a fork takes hundredths of a second

// Of a process that has ended. Nothing where the one that has forked it does not say.
std::optional<int> status_of(ModuleProcess& server, int64_t pid) {
  const ModuleFrame frame = server.ask({{"op", "ended"}, {"pid", pid}}, kForkPatience);
  if (!frame.json) return std::nullopt;
  const auto status = frame.json->find("wait_status");
  if (status == frame.json->end() || !status->is_number_integer()) return std::nullopt;
  return status->get<int>();
}

}  // namespace

ModuleZygote::ModuleZygote(const ModuleBoxOptions& options)
    : options_(options),
      server_(
          std::make_shared<ModuleProcess>(options, ModuleProgram{.program = "zygote_main.py",
                                                                 .arguments = {"--device", options.device},
                                                                 .descriptors = {},
                                                                 .trusted = true,
                                                                 .forks = true})) {}

ModuleProcess ModuleZygote::fork(const Forked& forked) {
  wait_ready();
  ModuleSockets sockets = module_sockets();
  const Json request{{"op", "fork"}, {"exchange_bytes", forked.exchange_bytes}, {"user", forked.user}};
  if (!server_->send(request, {sockets.theirs.get(), forked.exchange, forked.clock}))
    throw WorldError("the process that forks candidates' has ended");
  const ModuleFrame frame = server_->receive(kForkPatience);
  if (!frame.json) throw WorldError("the process that forks candidates' does not answer ({})", frame.end);
  const auto pid = frame.json->find("pid");
  std::vector<Fd> told = server_->descriptors();
  if (pid == frame.json->end() || !pid->is_number_integer() || told.size() != 1)
    throw WorldError("no process for a candidate can be forked: {}", printable(frame.json->dump(), 400));
  auto process = BoxProcess::adopt(std::move(told[0]), [server = server_, number = pid->get<int64_t>()] {
    return status_of(*server, number);
  });
  return {options_, ModuleProgram{.program = "candidate_main.py", .arguments = {}, .descriptors = {}},
          std::move(sockets.ours), std::move(process)};
}

}  // namespace temper::env
