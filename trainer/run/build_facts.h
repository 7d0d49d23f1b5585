#pragma once
// Facts that CMake recorded when it built this program.

namespace temper::trainer {

struct BuildFacts {
  const char *version, *compiler, *cuda_compiler, *flags, *torch;
};

extern const BuildFacts kBuild;
extern const char* const
    kCommit;  // commit of the source tree (cmake/Commit.cmake), or "" without a repository

}  // namespace temper::trainer
