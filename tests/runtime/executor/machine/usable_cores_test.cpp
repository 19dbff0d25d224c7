#include "runtime/executor/machine/usable_cores.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace troupe {
namespace {

namespace fs = std::filesystem;

// A control group file system made of plain files.
class control_groups : public ::testing::Test {
 protected:
  control_groups() {
    std::string pattern = (fs::temp_directory_path() / "troupe-cgroup-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~control_groups() override { fs::remove_all(folder_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text;
  }
  std::optional<std::int32_t> limit() const {
    return cgroup_cpu_limit(folder_ / "mount", folder_ / "membership");
  }

 private:
  fs::path folder_;
};

TEST_F(control_groups, a_quota_counts_in_cores_rounded_up) {
  write("membership", "0::/pod\n");
  write("mount/pod/cpu.max", "200000 100000\n");
  EXPECT_EQ(limit(), 2);
  write("mount/pod/cpu.max", "210000 100000\n");
  EXPECT_EQ(limit(), 3);
  write("mount/pod/cpu.max", "1000 100000\n");
  EXPECT_EQ(limit(), 1);
}

TEST_F(control_groups, the_least_quota_from_the_mount_down_counts) {
  write("membership", "0::/slice/pod\n");
  write("mount/slice/cpu.max", "300000 100000\n");
  write("mount/slice/pod/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 3);
  write("mount/slice/pod/cpu.max", "100000 100000\n");
  EXPECT_EQ(limit(), 1);
}

TEST_F(control_groups, in_a_container_the_own_group_is_the_mount_itself) {
  write("membership", "0::/\n");
  write("mount/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 4);
}

TEST_F(control_groups, version_1_is_read_too) {
  write("membership", "5:memory:/pod\n3:cpu,cpuacct:/pod\n");
  write("mount/cpu,cpuacct/pod/cpu.cfs_quota_us", "150000\n");
  write("mount/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 2);
  write("mount/cpu,cpuacct/pod/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST_F(control_groups, controllers_of_version_1_may_stand_in_any_order_or_be_mounted_alone) {
  write("membership", "3:cpuacct,cpu:/pod\n4:cpuset:/pod\n");
  write("mount/cpuset/pod/cpu.cfs_quota_us", "100000\n");
  write("mount/cpuset/pod/cpu.cfs_period_us", "100000\n");
  write("mount/cpu/pod/cpu.cfs_quota_us", "250000\n");
  write("mount/cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 3);
  write("mount/cpuacct,cpu/pod/cpu.cfs_quota_us", "150000\n");
  write("mount/cpuacct,cpu/pod/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 2);
}

TEST_F(control_groups, without_a_limit_or_with_garbage_there_is_none) {
  EXPECT_EQ(limit(), std::nullopt);
  write("membership", "nonsense\n0::/pod\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("mount/pod/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("mount/pod/cpu.max", "-5 0\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("mount/pod/cpu.max", "");
  EXPECT_EQ(limit(), std::nullopt);
}

TEST(usable_cores, there_is_at_least_one) { EXPECT_GE(usable_cores(), 1); }

}  // namespace
}  // namespace troupe
