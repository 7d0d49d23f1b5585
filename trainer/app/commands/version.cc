#include <memory>

#include "base/error.h"
#include "trainer/app/commands/commands.h"
#include "trainer/run/provenance.h"

namespace temper::trainer {

void add_version(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("version", "version, commit, compiler, flags and libraries of this program");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "as JSON");
  command->callback([=, &exit_code] {
    const auto facts = program_facts();
    fmt::print("{}", *json ? facts.dump(2) + "\n" : program_text(facts));
    exit_code = kExitOk;
  });
}

}  // namespace temper::trainer
