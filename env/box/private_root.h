#pragma once
// An empty root folder in memory, with nothing of the machine in it but what is asked for.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace temper::env {

// Called in a mount namespace of our own. `read_only` are folders of the machine that appear under the same
// names; a folder that is a link (/lib → usr/lib) appears as the same link. One that lies in another is seen there. Single
// files and devices (/dev/null) may be among them. With `processes`, /proc is there, of our own pid namespace, and can be
// written to: CUDA's driver names its threads there. The working folder becomes the new root. Errors: WorldError naming the step.
void enter_private_root(int64_t bytes, const std::vector<std::string>& read_only, bool processes = false);

// A folder of that mode in the private root, where there may be one already. Errors: WorldError.
void make_root_folder(const char* path, mode_t mode);

}  // namespace temper::env
