#include "main/service/settings_reader.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace troupe::cli {
namespace {

constexpr std::chrono::hours patient_enough(1);
constexpr std::chrono::milliseconds impatient(20);

// Files of a disk that answers when it is mended: each reading finds its own number as the port.
class hung_disk {
 public:
  result<read_sources> read(const config::file_observer& before_file) {
    before_file("troupe.toml");
    std::unique_lock lock(mutex_);
    read_sources all;
    all.loaded.values.port = ++num_begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_mended_; });
    lock.unlock();
    before_file("admin-key");
    lock.lock();
    ++num_ended_;
    changed_.notify_all();
    return all;
  }
  void wait_for_reader() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return num_begun_ > 0; });
  }
  void mend_and_wait() {
    std::unique_lock lock(mutex_);
    is_mended_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return num_ended_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_mended_ = false;
  int num_begun_ = 0;
  int num_ended_ = 0;
};

struct SettingsReader : testing::Test {
  settings_reader::reading reading() const {
    return [kept = disk](const auto& before_file) { return kept->read(before_file); };
  }

  const std::shared_ptr<hung_disk> disk = std::make_shared<hung_disk>();
};

TEST_F(SettingsReader, NamesTheFileThatDoesNotComeAndReadsAgainOnceItHas) {
  settings_reader reader(reading(), impatient);
  const auto first = reader.read();
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error().code, error_code::unavailable);
  EXPECT_EQ(first.error().message, "troupe.toml: no answer within 0.02 s");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(reader.read().error().message, "troupe.toml: an earlier reload still waits for it");
  disk->mend_and_wait();
  auto later = reader.read();
  for (; !later.has_value(); later = reader.read())
    std::this_thread::yield();  // the thread has yet to say so
  EXPECT_GT(later->loaded.values.port, 1) << "nobody waits for what the first has read";
}

TEST_F(SettingsReader, IsNotWaitedForOnceItIsOver) {
  settings_reader reader(reading(), patient_enough);
  std::thread ending([&] {
    disk->wait_for_reader();
    reader.end();
  });
  EXPECT_EQ(reader.read().error().message, "the service is about to end");
  ending.join();
}

TEST_F(SettingsReader, BeginsNoReadingOnceItIsOver) {
  settings_reader reader(reading(), patient_enough);
  reader.end();
  const auto owners = disk.use_count();
  EXPECT_EQ(reader.read().error().message, "the service is about to end");
  EXPECT_EQ(disk.use_count(), owners) << "no thread has it";
}

TEST_F(SettingsReader, ThatIsGoneLeavesItsThreadToTheDisk) {
  {
    settings_reader reader(reading(), impatient);
    EXPECT_FALSE(reader.read().has_value());
  }
  disk->mend_and_wait();
}

TEST(SettingsReaderOfFilesThatAnswer, GivesWhatTheyHoldOrWhatIsWrongWithThem) {
  int asked = 0;
  settings_reader reader(
      [&asked](const auto&) -> result<read_sources> {
        if (++asked == 1) return fail(error_code::invalid_argument, "troupe.toml:3: no such key");
        if (asked == 2) throw std::runtime_error("no memory");
        read_sources all;
        all.loaded.values.port = 4711;
        return all;
      },
      patient_enough);
  EXPECT_EQ(reader.read().error().message, "troupe.toml:3: no such key");
  EXPECT_EQ(reader.read().error().code, error_code::internal);
  const auto all = reader.read();
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->loaded.values.port, 4711);
}

}  // namespace
}  // namespace troupe::cli
