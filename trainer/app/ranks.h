#pragma once
// A command on several ranks: they meet, agree that they are the same program on the same job, and end
// together.

#include <functional>
#include <string>
#include <vector>

#include "env/task/task.h"

namespace temper::policy {
class Communicator;
}  // namespace temper::policy

namespace temper::trainer {

struct RunConfig;

// A command whose config every rank reads for itself. The last ranks.env ranks have the role env: they hold
// no policy, see nothing of prepare and run, and judge for the others, whose config.env.servers names them.
struct RankedCommand {
  std::function<RunConfig()> read;
  std::function<std::vector<env::Task>(const RunConfig&)> tasks;  // that are judged
  // Called before anything is begun, for checks that need this machine, above all for mistakes of the user.
  std::function<void(RunConfig&, policy::Communicator&)> prepare;
  std::function<int(RunConfig&, policy::Communicator&)> run;  // the exit code
};

// Runs the command on this rank. If ranks differ (program, config, environment), cannot begin, or one fails later, one
// of them reports which and why, once, and all end. Errors: with a single rank, the command's own.
int run_ranked(const RankedCommand& command);

// The ranks of a machine share its cores: env.lanes and run.threads that are 0 become this rank's part.
void share_machine(RunConfig& config, const policy::Communicator& ranks);

}  // namespace temper::trainer
