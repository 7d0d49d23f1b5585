#include <memory>

#include "base/error.h"
#include "trainer/commands/commands.h"

namespace temper {

void add_options(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("options", "every option of a run");
  const auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown, "the README's table");
  command->callback([=, &exit_code] {
    RunConfig config;
    const VisitOptions visit = [&](OptionVisitor& v) { config.visit(v); };
    fmt::print("{}", *markdown ? options_to_markdown(visit) : options_to_help(visit));
    exit_code = kExitOk;
  });
}

}  // namespace temper
