#include "main/service/service_notifier.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::cli {
namespace {

using states = std::vector<std::string>;

constexpr std::chrono::hours long_enough(1);
constexpr std::chrono::milliseconds a_moment(20);

// A socket that takes what it is given once somebody reads.
class unread_socket {
 public:
  void send(const std::string& state) {
    std::unique_lock lock(mutex_);
    ++num_begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_read_; });
    sent_.push_back(state);
  }
  void wait_for_sender() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return num_begun_ > 0; });
  }
  void read() {
    const std::lock_guard lock(mutex_);
    is_read_ = true;
    changed_.notify_all();
  }
  states sent() {
    const std::lock_guard lock(mutex_);
    return sent_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_read_ = false;
  int num_begun_ = 0;
  states sent_;
};

struct ServiceNotifier : testing::Test {
  // The first state is with the socket, so that those after it wait.
  void tell_all(const states& rest) {
    notifier.tell("STATUS=loading");
    socket->wait_for_sender();
    for (const std::string& state : rest) notifier.tell(state);
  }
  states sent_once_read() {
    EXPECT_FALSE(notifier.flush(a_moment)) << "nobody reads yet";
    socket->read();
    EXPECT_TRUE(notifier.flush(long_enough));
    return socket->sent();
  }

  const std::shared_ptr<unread_socket> socket = std::make_shared<unread_socket>();
  service_notifier notifier{[kept = socket](const std::string& state) { kept->send(state); }};
};

TEST_F(ServiceNotifier, SendsEverythingInOrderToWhoReads) {
  socket->read();
  const states all{"STATUS=loading", "READY=1", "WATCHDOG=1", "STATUS=serving", "WATCHDOG=1", "STOPPING=1"};
  for (const std::string& state : all) {
    notifier.tell(state);
    EXPECT_TRUE(notifier.flush(long_enough));
  }
  EXPECT_EQ(socket->sent(), all);
}

TEST_F(ServiceNotifier, KeepsTheLatestOfEachKindWhereNobodyReads) {
  states many;
  for (int i = 0; i < 10'000; ++i) many.insert(many.end(), {"WATCHDOG=1", "STATUS=" + std::to_string(i)});
  tell_all(many);
  EXPECT_EQ(sent_once_read(), (states{"STATUS=loading", "WATCHDOG=1", "STATUS=9999"}));
}

TEST_F(ServiceNotifier, TellsOfTheLastReloadThatItBeginsAndThenThatItIsOver) {
  tell_all({"READY=1\nSTATUS=serving", "RELOADING=1\nMONOTONIC_USEC=1", "READY=1\nSTATUS=refused",
            "STATUS=not live", "RELOADING=1\nMONOTONIC_USEC=2", "READY=1\nSTATUS=serving again", "STOPPING=1",
            "EXTEND_TIMEOUT_USEC=7"});
  EXPECT_EQ(sent_once_read(),
            (states{"STATUS=loading", "STATUS=not live", "RELOADING=1\nMONOTONIC_USEC=2",
                    "READY=1\nSTATUS=serving again", "STOPPING=1", "EXTEND_TIMEOUT_USEC=7"}));
}

TEST(ServiceNotifierThatIsGone, DoesNotWaitForWhoDoesNotReadAndSendsNoMore) {
  const auto socket = std::make_shared<unread_socket>();
  {
    service_notifier notifier([socket](const std::string& state) { socket->send(state); });
    notifier.tell("READY=1");
    socket->wait_for_sender();
    notifier.tell("STOPPING=1");
  }
  EXPECT_EQ(socket->sent(), states{});
  socket->read();
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (socket.use_count() > 1 && std::chrono::steady_clock::now() < given_up) std::this_thread::yield();
  EXPECT_EQ(socket.use_count(), 1) << "its thread has ended";
  EXPECT_EQ(socket->sent(), states{"READY=1"}) << "what it had begun to send, and no more";
}

}  // namespace
}  // namespace troupe::cli
