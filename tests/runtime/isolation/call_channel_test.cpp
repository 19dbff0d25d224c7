#include "runtime/isolation/call_channel.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <utility>

#include "runtime/isolation/call_client.hpp"
#include "runtime/isolation/call_server.hpp"

namespace troupe {
namespace {

// What a process would inherit of it.
call_channel other_end_of(const call_channel& channel) {
  auto lent = channel.descriptors();
  for (int& each : lent) each = ::fcntl(each, F_DUPFD_CLOEXEC, 0);
  return *call_channel::inherit(lent);
}

// Both ends in this process. A pipe in the place of the other's pidfd: it has ended where that is closed.
class call_channels : public testing::Test {
 protected:
  explicit call_channels(call_channel made = *call_channel::create())
      : server(other_end_of(made)), client(std::move(made)) {
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

TEST(call_channel, is_nothing_without_all_of_its_descriptors) {
  EXPECT_FALSE(call_channel::inherit({}).has_value());
  const auto small = page_memory::allocate_shared(100, "test");
  std::array<int, call_channel::num_descriptors> lent{};
  for (int& each : lent) each = ::fcntl(small->descriptor(), F_DUPFD_CLOEXEC, 0);
  EXPECT_FALSE(call_channel::inherit(lent).has_value());
}

}  // namespace
}  // namespace troupe
