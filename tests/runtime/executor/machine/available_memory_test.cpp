#include "runtime/executor/machine/available_memory.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t mib = 1U << 20U;

// A made-up /proc and /sys.
struct available_memory_of : testing::Test {
  fs::path root = fs::temp_directory_path() / ("troupe_memory_" + std::to_string(::getpid()));

  void SetUp() override {
    fs::remove_all(root);
    write("proc/meminfo", "MemTotal:       16384 kB\nMemAvailable:    8192 kB\n");
  }
  void TearDown() override { fs::remove_all(root); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  std::uint64_t bytes() const { return available_memory(root).value_or(0); }
};

TEST_F(available_memory_of, a_machine_without_limits_is_what_the_kernel_calls_available) {
  EXPECT_EQ(bytes(), 8 * mib);
  EXPECT_FALSE(is_memory_of_group(root));
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "max\n");
  write("sys/fs/cgroup/memory.current", "1048576\n");
  EXPECT_EQ(bytes(), 8 * mib);
}

TEST_F(available_memory_of, a_group_is_what_its_limit_leaves_beside_files_that_can_be_dropped) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "6291456\n");
  write("sys/fs/cgroup/a/b/memory.current", "5242880\n");
  EXPECT_EQ(bytes(), 1 * mib);
  EXPECT_TRUE(is_memory_of_group(root));
  write("sys/fs/cgroup/a/b/memory.stat", "anon 1\ninactive_file 2097152\n");
  EXPECT_EQ(bytes(), 3 * mib);
}

TEST_F(available_memory_of, all_that_there_is_is_the_machines_or_the_tightest_limit) {
  EXPECT_EQ(total_memory(root), 16 * mib);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(total_memory(root), 16 * mib);
  write("sys/fs/cgroup/a/memory.max", "4194304\n");
  EXPECT_EQ(total_memory(root), 4 * mib);
  fs::remove(root / "proc/meminfo");
  EXPECT_FALSE(total_memory(root));
}

TEST_F(available_memory_of, the_tightest_ancestor_binds_and_more_than_the_limit_leaves_nothing) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/memory.max", "6291456\n");
  write("sys/fs/cgroup/a/b/memory.current", "0\n");
  write("sys/fs/cgroup/a/memory.max", "4194304\n");
  write("sys/fs/cgroup/a/memory.current", "1048576\n");
  EXPECT_EQ(bytes(), 3 * mib);
  write("sys/fs/cgroup/a/memory.current", "9999999999\n");
  EXPECT_EQ(available_memory(root), 0U);
}

TEST_F(available_memory_of, a_container_that_sees_only_its_own_root_is_limited_by_it) {
  write("proc/self/cgroup", "0::/docker/0123abcd\n");
  write("sys/fs/cgroup/memory.max", "2097152\n");
  write("sys/fs/cgroup/memory.current", "0\n");
  EXPECT_EQ(bytes(), 2 * mib);
}

TEST_F(available_memory_of, a_group_of_version_1_counts_too) {
  write("proc/self/cgroup", "11:cpu:/x\n9:hugetlb,memory:/x\nnonsense\n");
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "3145728\n");
  write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "2097152\n");
  write("sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 1048576\n");
  EXPECT_EQ(bytes(), 2 * mib);
}

TEST_F(available_memory_of, a_kernel_that_does_not_say_is_an_error) {
  write("proc/meminfo", "MemTotal: 16384 kB\n");
  ASSERT_FALSE(available_memory(root));
  EXPECT_EQ(available_memory(root).error().code, error_code::io_error);
}

TEST(available_memory, this_machine_has_some) { EXPECT_GT(available_memory().value_or(0), mib); }

TEST_F(available_memory_of, resident_memory_is_what_no_file_stands_behind) {
  EXPECT_EQ(resident_memory(root), 0U);
  write("proc/self/statm", "1000 300 100 1 0 500 0\n");
  EXPECT_EQ(resident_memory(root), 200U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  write("proc/self/statm", "1000 100 300 1 0 500 0\n");
  EXPECT_EQ(resident_memory(root), 0U);
  write("proc/self/statm", "garbage\n");
  EXPECT_EQ(resident_memory(root), 0U);
  EXPECT_GT(resident_memory(), 0U);
}

}  // namespace
}  // namespace troupe
