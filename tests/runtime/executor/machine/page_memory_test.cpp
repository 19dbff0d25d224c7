#include "runtime/executor/machine/page_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace troupe {
namespace {

// Lets the process have no more of something than it has, until it is gone.
class lowered_limit {
 public:
  lowered_limit(decltype(RLIMIT_NOFILE) which, rlim_t most) : which_(which) {
    ::getrlimit(which, &before_);
    rlimit now = before_;
    now.rlim_cur = most;
    ::setrlimit(which, &now);
  }
  ~lowered_limit() { ::setrlimit(which_, &before_); }
  lowered_limit(const lowered_limit&) = delete;
  lowered_limit& operator=(const lowered_limit&) = delete;

 private:
  decltype(RLIMIT_NOFILE) which_;
  rlimit before_{};
};

// Of the addresses of this process, how many bytes are taken.
std::size_t size_of_this_process() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(page_memory, that_is_shared_is_the_same_at_both_addresses) {
  const auto first = page_memory::allocate_shared(100, "test");
  ASSERT_TRUE(first.has_value()) << first.error().message;
  const auto second = page_memory::map_shared(first->descriptor(), true);
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(second->size(), first->size());
  std::strcpy(reinterpret_cast<char*>(second->data()), "hello");
  EXPECT_STREQ(reinterpret_cast<const char*>(first->data()), "hello");
}

TEST(page_memory, leaves_the_descriptor_to_whoever_has_lent_it) {
  const auto lender = page_memory::allocate_shared(100, "test");
  for (int i = 0; i < 2; ++i) {
    const auto borrower = page_memory::map_shared(lender->descriptor(), false);
    EXPECT_TRUE(borrower.has_value()) << borrower.error().message;
  }
  EXPECT_TRUE(page_memory::map_shared(lender->descriptor(), true).has_value());
}

TEST(page_memory, that_is_unmapped_has_no_size_and_can_be_mapped_by_others) {
  auto memory = page_memory::allocate_shared(100, "test");
  memory->unmap();
  EXPECT_EQ(memory->data(), nullptr);
  EXPECT_EQ(memory->size(), 0U);
  EXPECT_TRUE(page_memory::map_shared(memory->descriptor(), false).has_value());
}

TEST(page_memory, that_cannot_be_mapped_leaves_no_address_taken) {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  const std::string path = testing::TempDir() + "page_memory_test";
  std::ofstream(path) << "read only";
  std::filesystem::resize_file(path, bytes);
  const int read_only = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::size_t before = size_of_this_process();
  for (int i = 0; i < 4; ++i) {
    const auto refused = page_memory::map_shared(read_only, true);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, error_code::unavailable);
  }
  EXPECT_LT(size_of_this_process(), before + bytes);
  ::close(read_only);
  std::filesystem::remove(path);
}

TEST(page_memory, says_what_is_missing) {
  {
    const lowered_limit no_more(RLIMIT_NOFILE, 0);
    const auto refused = page_memory::allocate_shared(100, "test");
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, error_code::resource_exhausted);
    EXPECT_NE(refused.error().message.find("Too many open files"), std::string::npos)
        << refused.error().message;
  }
  const lowered_limit small_files(RLIMIT_FSIZE, 4096);
  const auto refused = page_memory::allocate_shared(std::size_t{1} << 20, "test");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("File too large"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace troupe
