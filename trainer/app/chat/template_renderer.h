#pragma once
// Runs chat templates: in Jinja's sandbox, in a Python that is locked up in one of the kernel's.

#include <memory>
#include <string>
#include <vector>

#include "policy/chat/renderer.h"

namespace temper::env {
struct TritonPython;
}

namespace temper::trainer {

// One process, which starts with the first request and is started again where a template has ended it. It sees no file of
// the machine but Python's and the system's libraries, no network and no other process; it may hold 1 GiB and compute for
// half a second at a time, or longer where contents are long.
class TemplateRenderer : public policy::ChatRenderer {
 public:
  // `python`: the interpreter, as env.python has it; empty: found as candidates' is.
  explicit TemplateRenderer(std::string python = "");
  ~TemplateRenderer() override;
  std::vector<policy::RenderedChat> render(const policy::ChatTemplate& chat_template,
                                           const std::vector<policy::ChatQuestion>& questions) const override;
  void start_anew() const override;

 private:
  struct Box;
  std::string python_;
  mutable std::unique_ptr<env::TritonPython> found_;
  mutable std::unique_ptr<Box> box_;
  mutable int starts_ = 0;
};

// The one of this program.
const policy::ChatRenderer& chat_renderer();

}  // namespace temper::trainer
