#include "runtime/isolation/call_channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "runtime/isolation/call_client.hpp"
#include "runtime/isolation/call_server.hpp"
#include "tests/support/asleep.hpp"

namespace troupe {
namespace {

// What a process would inherit of it.
call_channel other_end_of(const call_channel& channel) {
  auto lent = channel.descriptors();
  for (int& each : lent) each = ::fcntl(each, F_DUPFD_CLOEXEC, 0);
  return *call_channel::inherit(lent);
}

// The bells of a channel, of which the test is a third owner.
class bells {
 public:
  explicit bells(const call_channel& channel) : channel_(other_end_of(channel)) {}
  bool has_ring_for_server() const { return has_ring(channel_.descriptors()[1]); }
  bool has_ring_for_client() const { return has_ring(channel_.descriptors()[2]); }
  void ring_for_server() const { ::eventfd_write(channel_.descriptors()[1], 1); }
  void ring_for_client() const { ::eventfd_write(channel_.descriptors()[2], 1); }
  // Where it sleeps, the next news does not wake it.
  void take_server_for_awake() const { channel_.wait_for_call(channel_.num_asked() - 1); }
  void take_client_for_awake() const { channel_.wait_for_answers(channel_.num_answered(), -1); }

  // Whether whoever works here does so without help: where nothing is told for half a minute, both are woken
  // until it is done.
  bool are_enough_for(std::future<void> work) const {
    const auto told = [this] { return std::pair(channel_.num_asked(), channel_.num_answered()); };
    bool alone = true;
    auto before = told();
    for (std::chrono::milliseconds wait{30000}; work.wait_for(wait) != std::future_status::ready;) {
      const auto now = told();
      if (alone && std::exchange(before, now) != now) continue;
      alone = false;
      wait = std::chrono::milliseconds(1);
      ring_for_server();
      ring_for_client();
    }
    return alone;
  }

 private:
  static bool has_ring(int bell) {
    pollfd watched{bell, POLLIN, 0};
    return ::poll(&watched, 1, 0) == 1;
  }
  call_channel channel_;
};

// Both ends in this process. A pipe in the place of the other's pidfd: it has ended where that is closed.
class call_channels : public testing::Test {
 protected:
  explicit call_channels(call_channel made = *call_channel::create())
      : rings(made), server(other_end_of(made)), client(std::move(made)) {
    EXPECT_EQ(::pipe2(life_.data(), O_CLOEXEC), 0);
  }
  ~call_channels() override {
    for (const int each : life_)
      if (each >= 0) ::close(each);
  }

  call_number ask(const std::string& text) {
    flat_writer to = client.message();
    to.text(text);
    return client.ask(executor_call::forward, 7, to);
  }
  void answer_next(call_outcome outcome = call_outcome::value) {
    const call_header asked = server.next_call();
    EXPECT_EQ(asked.call, executor_call::forward);
    EXPECT_EQ(asked.device, 7U);
    const std::string text = "to " + server.message().text();
    flat_writer to = server.answer();
    to.text(text);
    server.reply(outcome, to);
  }
  std::string text_of_answer_to(call_number call) const { return client.answer_to(call).text(); }
  bool wait() const { return client.wait_for_answers(life_[0]); }
  void end_process() { ::close(std::exchange(life_[1], -1)); }

  bells rings;
  call_server server;
  call_client client;

 private:
  std::array<int, 2> life_{};
};

TEST_F(call_channels, carry_a_call_and_its_answer) {
  std::thread process([this] { answer_next(); });
  const call_number asked = ask("somebody");
  ASSERT_TRUE(wait());
  process.join();
  EXPECT_EQ(client.outcome_of(asked), call_outcome::value);
  EXPECT_EQ(text_of_answer_to(asked), "to somebody");
}

TEST_F(call_channels, have_two_calls_under_way_each_with_its_own_answer) {
  for (int i = 0; i < 5; ++i) {
    const call_number first = ask("one");
    const call_number second = ask("another");
    answer_next(call_outcome::fault);
    answer_next();
    ASSERT_TRUE(wait());
    EXPECT_EQ(client.outcome_of(first), call_outcome::fault);
    EXPECT_EQ(text_of_answer_to(first), "to one");
    EXPECT_EQ(client.outcome_of(second), call_outcome::value);
    EXPECT_EQ(text_of_answer_to(second), "to another");
    const call_number third = ask("a third");
    answer_next();
    ASSERT_TRUE(wait());
    EXPECT_EQ(text_of_answer_to(third), "to a third");
  }
}

TEST_F(call_channels, are_not_waited_for_longer_than_the_process_lives) {
  const call_number first = ask("one");
  ask("another");
  answer_next();
  end_process();
  EXPECT_FALSE(wait());
  EXPECT_EQ(text_of_answer_to(first), "to one");
}

TEST_F(call_channels, an_answer_that_is_all_there_counts_although_the_process_has_ended) {
  ask("one");
  answer_next();
  end_process();
  EXPECT_TRUE(wait());
}

TEST_F(call_channels, go_on_where_a_wake_up_is_lost) {
  std::atomic<pid_t> process = 0;
  auto answered = std::async(std::launch::async, [&] {
    process = test::this_thread();
    answer_next();
  });
  test::wait_until_asleep(process);
  rings.take_server_for_awake();
  ask("somebody");
  EXPECT_TRUE(rings.are_enough_for(std::move(answered)));
  ask("another");
  std::atomic<pid_t> service = 0;
  auto heard = std::async(std::launch::async, [&] {
    service = test::this_thread();
    EXPECT_TRUE(wait());
  });
  test::wait_until_asleep(service);
  rings.take_client_for_awake();
  answer_next();
  EXPECT_TRUE(rings.are_enough_for(std::move(heard)));
}

TEST_F(call_channels, wake_nobody_who_does_not_sleep) {
  for (int i = 0; i < 3; ++i) {
    ask("one");
    ask("another");
    answer_next();
    answer_next();
    EXPECT_FALSE(rings.has_ring_for_server());
    EXPECT_FALSE(rings.has_ring_for_client());
    EXPECT_TRUE(wait());
  }
}

TEST(call_channel, wakes_nobody_after_an_old_ring) {
  call_channel client = *call_channel::create();
  const call_channel server = other_end_of(client);
  const bells rings(client);
  rings.ring_for_server();
  server.wait_for_call(0);
  client.tell_asked(1);
  EXPECT_FALSE(rings.has_ring_for_server());
}

// A channel whose ends, unlike those of a service, sleep until they are woken: there, a wake-up that is lost
// only costs a pause.
class bare_channel : public testing::Test {
 protected:
  void await_call(call_number call) const {
    while (server.num_asked() == call) server.wait_for_call(call, for_ever);
  }
  void await_answers(call_number count) const {
    while (client.num_answered() != count) client.wait_for_answers(count, of_no_process, for_ever);
  }

  call_channel client = *call_channel::create();
  call_channel server = other_end_of(client);
  const bells rings{client};

 private:
  static constexpr std::chrono::hours for_ever{1};
  static constexpr int of_no_process = -1;
};

TEST_F(bare_channel, wakes_a_process_that_sleeps_and_a_service_that_sleeps) {
  for (call_number call = 0; call < 3; ++call) {
    std::atomic<pid_t> process = 0;
    std::atomic<pid_t> service = 0;
    auto answers = std::async(std::launch::async, [&] {
      process = test::this_thread();
      await_call(call);
      test::wait_until_asleep(service);
      server.tell_answered(call + 1);
    });
    auto questions = std::async(std::launch::async, [&] {
      test::wait_until_asleep(process);
      client.tell_asked(call + 1);
      service = test::this_thread();
      await_answers(call + 1);
    });
    EXPECT_TRUE(rings.are_enough_for(std::move(questions)));
    EXPECT_TRUE(rings.are_enough_for(std::move(answers)));
  }
}

// Either end falls asleep just when the other tells it something, over and over.
TEST_F(bare_channel, loses_no_call_and_no_answer_to_somebody_who_falls_asleep) {
  constexpr call_number calls = 100000;
  // About as long as it takes to be woken.
  const auto pause = [](std::minstd_rand& random) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 20000);
    while (std::chrono::steady_clock::now() < end) __builtin_ia32_pause();
  };
  auto answers = std::async(std::launch::async, [&] {
    std::minstd_rand random(1);
    for (call_number call = 0; call < calls; ++call) {
      await_call(call);
      pause(random);
      server.tell_answered(call + 1);
      pause(random);
    }
  });
  auto questions = std::async(std::launch::async, [&] {
    std::minstd_rand random(2);
    for (call_number asked = 0; asked < calls;) {
      for (auto together = 1 + random() % 2; together > 0 && asked < calls; --together) {
        client.tell_asked(++asked);
        pause(random);
      }
      await_answers(asked);
      pause(random);
    }
  });
  EXPECT_TRUE(rings.are_enough_for(std::move(questions)));
  EXPECT_TRUE(rings.are_enough_for(std::move(answers)));
}

TEST(call_channel, is_nothing_without_all_of_its_descriptors) {
  EXPECT_FALSE(call_channel::inherit({}).has_value());
  const auto small = page_memory::allocate_shared(100, "test");
  std::array<int, call_channel::num_descriptors> lent{};
  for (int& each : lent) each = ::fcntl(small->descriptor(), F_DUPFD_CLOEXEC, 0);
  EXPECT_FALSE(call_channel::inherit(lent).has_value());
}

}  // namespace
}  // namespace troupe
