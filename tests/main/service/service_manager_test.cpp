// Who ends a service that is not live any more, and when nobody does.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "main/service/service_manager.hpp"

namespace troupe::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Is looked at by a watch, which may end it.
class LivenessWatch : public testing::Test {
 protected:
  liveness_watch::status_of status() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++looks_;
      changed_.notify_all();
      return now_;
    };
  }

  liveness_watch::process_end end() {
    return [this](const std::string& why) {
      const std::lock_guard lock(mutex_);
      ends_.push_back(why);
      changed_.notify_all();
    };
  }

  void become(const net::engine_status& now) {
    const std::lock_guard lock(mutex_);
    now_ = now;
  }

  // Until it has been looked at so many times more.
  bool is_looked_at(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(60), [this, enough = looks_ + times] { return looks_ >= enough; });
  }

  bool is_ended() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(60), [this] { return !ends_.empty(); });
  }

  std::vector<std::string> ends() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }

  static constexpr milliseconds patience{40};  // four looks
  static constexpr int looks_of_patience = 4;
  static constexpr net::engine_status live{.live = true, .ready = true};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  net::engine_status now_ = live;
  int looks_ = 0;
  std::vector<std::string> ends_;
};

TEST_F(LivenessWatch, EndsOnceWhatIsNotLiveForLong) {
  const liveness_watch watch(status(), patience, end());
  ASSERT_TRUE(is_looked_at(3 * looks_of_patience));
  EXPECT_TRUE(ends().empty()) << "it is live";
  become({.live = false, .reason = "a step does not end"});
  ASSERT_TRUE(is_ended());
  EXPECT_EQ(ends(), (std::vector<std::string>{"not live for 0 s"}));
}

TEST_F(LivenessWatch, LeavesWhatIsDealtWithToWhoeverDoesThat) {
  liveness_watch watch(status(), patience, end());
  for (const bool ready : {true, false}) {
    become({.live = false, .reason = "a runner opens", .waits_for_runner = ready, .is_dealt_with = true});
    ASSERT_TRUE(is_looked_at(3 * looks_of_patience));
    EXPECT_TRUE(ends().empty());
  }
  become({.live = false, .reason = "a step does not end", .waits_for_runner = true});
  ASSERT_TRUE(is_ended()) << "that is waited for a runner is no reason";
}

}  // namespace
}  // namespace troupe::cli
