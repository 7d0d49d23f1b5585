#include "policy/ranks/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace temper::policy {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

RankPlace place_in(const Variables& variables) {
  return find_rank_place([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

void expect_refused(const Variables& variables, const std::string& text) {
  try {
    place_in(variables);
    FAIL() << "not refused: " << text;
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr(text));
  }
}

const Variables kMpi = {
    {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"MASTER_PORT", "29500"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},
                          {"SLURM_NTASKS", "8"},
                          {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_JOB_NODELIST", "node[03-06],x1"},
                          {"SLURM_JOB_ID", "70007"}};

Variables joined(Variables a, const Variables& b) {
  a.insert(b.begin(), b.end());
  return a;
}

TEST(Place, IsASingleRankWhereNobodySaysOtherwise) {
  const RankPlace place = place_in({{"PATH", "/bin"}});
  EXPECT_EQ(place.launcher, Launcher::kNone);
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.size, 1);
}

TEST(Place, ReadsEachLaunchersVariables) {
  const RankPlace mpi = place_in(kMpi), torchrun = place_in(kTorchrun), slurm = place_in(kSlurm);
  EXPECT_EQ(mpi.launcher, Launcher::kMpi);
  EXPECT_EQ(mpi.rank, 1);
  EXPECT_EQ(mpi.size, 4);
  EXPECT_EQ(mpi.local_rank, 0);
  EXPECT_EQ(torchrun.launcher, Launcher::kTorchrun);
  EXPECT_EQ(torchrun.rank, 3);
  EXPECT_EQ(torchrun.local_rank, 1);
  EXPECT_EQ(torchrun.master_host, "10.0.0.1");
  EXPECT_EQ(torchrun.master_port, 29500);
  EXPECT_FALSE(torchrun.master_listens);
  EXPECT_EQ(slurm.launcher, Launcher::kSlurm);
  EXPECT_EQ(slurm.rank, 5);
  EXPECT_EQ(slurm.size, 8);
  EXPECT_EQ(slurm.master_host, "node03");
  EXPECT_EQ(slurm.master_port, 15000 + 70007 % 15000);
  EXPECT_TRUE(place_in(joined(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).master_listens);
}

TEST(Place, TakesTheFirstSetThatIsThere) {
  const Variables by_hand = {{"TEMPER_RANK", "1"}, {"TEMPER_WORLD_SIZE", "2"}, {"TEMPER_MASTER", "a:77"}};
  const RankPlace place = place_in(joined(joined(by_hand, kMpi), kSlurm));
  EXPECT_EQ(place.launcher, Launcher::kByHand);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.local_rank, -1);
  EXPECT_EQ(place.master_host, "a");
  EXPECT_EQ(place.master_port, 77);
  EXPECT_EQ(place_in(joined(kMpi, kSlurm)).contradiction, "");  // an allocation's variables lie about
}

// Of slurm 22.05: what sbatch gives its script, and salloc its command.
TEST(Place, RunsAloneInAnAllocationWhereSrunDidNotStartIt) {
  const Variables salloc = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_NODELIST", "a"}};
  for (const Variables& given : {salloc, joined(salloc, {{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}})}) {
    const RankPlace place = place_in(given);
    EXPECT_EQ(place.size, 1);
    EXPECT_EQ(
        place.hint,
        "SLURM's job 7 has 2 tasks, and srun did not start this process, which runs alone; srun -n 2 in "
        "front of the command starts as many ranks");
  }
  EXPECT_EQ(place_in({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}}).hint, "");
  EXPECT_EQ(place_in(joined(salloc, kMpi)).hint, "");
}

TEST(Place, NamesWhatContradicts) {
  EXPECT_EQ(place_in(joined(kMpi, kTorchrun)).contradiction,
            "RANK=3 contradicts OMPI_COMM_WORLD_RANK=1: unset the one that is wrong");
  EXPECT_EQ(place_in(joined(kMpi, {{"RANK", "1"}, {"WORLD_SIZE", "2"}})).contradiction,
            "WORLD_SIZE=2 contradicts OMPI_COMM_WORLD_SIZE=4: unset the one that is wrong");
}

TEST(Place, RefusesWhatIsIncompleteOrImpossible) {
  expect_refused({{"RANK", "0"}}, "RANK=0 is set and WORLD_SIZE is not");
  expect_refused({{"SLURM_STEP_NUM_TASKS", "2"}}, "SLURM_STEP_NUM_TASKS=2 is set and SLURM_PROCID is not");
  expect_refused({{"RANK", "2"}, {"WORLD_SIZE", "2"}}, "RANK=2: must be a number from 0 to 1");
  expect_refused({{"RANK", "0"}, {"WORLD_SIZE", "two"}}, "WORLD_SIZE=two: must be a number from 1");
  expect_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, "WORLD_SIZE=2 is set and MASTER_ADDR is not");
  expect_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "0"}},
                 "MASTER_PORT=0");
  expect_refused({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}, "LOCAL_RANK=2");
  expect_refused({{"TEMPER_RANK", "0"}, {"TEMPER_WORLD_SIZE", "2"}, {"TEMPER_MASTER", "host"}},
                 "TEMPER_MASTER=host");
  expect_refused({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}},
                 "neither SLURM_JOB_NODELIST nor MASTER_ADDR");
}

TEST(Place, FindsTheFirstHostOfSlurmsList) {
  EXPECT_EQ(first_host("node7"), "node7");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("n[12,14-15],b"), "n12");
  EXPECT_EQ(first_host("n[008-010].cluster,b[1]"), "n008.cluster");
  EXPECT_EQ(first_host("a,n[1-2]"), "a");
}

}  // namespace
}  // namespace temper::policy
