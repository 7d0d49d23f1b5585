#pragma once
// What CMake knew when it built this program.

namespace temper {

struct BuildFacts {
  const char *version, *compiler, *cuda_compiler, *flags, *torch;
};

extern const BuildFacts kBuild;
extern const char* const kCommit;  // of the source tree, cmake/Commit.cmake; "": it was no repository

}  // namespace temper
