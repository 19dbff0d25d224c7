// What a measured actor tells of its messages.
#include "actors/messaging/measured.hpp"

#include <gtest/gtest.h>

#include <caf/scheduler/test_coordinator.hpp>
#include <memory>
#include <vector>

#include "actors/interfaces.hpp"
#include "metrics/exposition.hpp"

namespace troupe::test {
namespace {

using probe_actor =
    caf::typed_actor<caf::reacts_to<msg::abort>, caf::replies_to<msg::count>::with<msg::tokenizer_counts>,
                     caf::reacts_to<msg::take_stock>>;

struct probe_state {
  static inline const char* name = "probe";
};

class Measured : public ::testing::Test {
 protected:
  Measured() : system_(config()) {}

  static caf::actor_system_config& config() {
    static caf::actor_system_config config;
    configure(config, "testing", 1);
    return config;
  }

  // Notes what the metrics say of its mailbox while it handles each message.
  probe_actor spawn_probe() {
    const auto behave = [this](probe_actor::stateful_pointer<probe_state> self, std::uint64_t answer) {
      return measured(
          self, metrics_,
          [this](const msg::abort&) { seen_.push_back(metrics_->actor("probe").mailbox_size()); },
          [answer](const msg::count&) { return msg::tokenizer_counts{answer}; },
          [this](const msg::take_stock&) { ++stocks_; });
    };
    return system_.spawn(behave, std::uint64_t{7});
  }

  void run() { static_cast<caf::scheduler::test_coordinator&>(system_.scheduler()).run(); }

  double handled(const std::string& message) const {
    return metrics::exposition(metrics_->text())
        .sum("troupe_actor_message_seconds_count", {{"actor", "probe"}, {"message", message}})
        .value_or(-1);
  }

  std::shared_ptr<metrics::engine_metrics> metrics_ =
      std::make_shared<metrics::engine_metrics>(metrics::metrics_options{});
  std::vector<std::int64_t> seen_;
  int stocks_ = 0;
  caf::actor_system system_;
};

TEST_F(Measured, ItsMessagesAreThereAtZeroBeforeTheFirst) {
  EXPECT_EQ(handled("abort"), -1);
  const probe_actor probe = spawn_probe();
  run();
  EXPECT_EQ(handled("abort"), 0);
  EXPECT_EQ(handled("count"), 0);
}

TEST_F(Measured, EachMessageIsTimedOnceAndTellsWhoWaitsBehindIt) {
  const probe_actor probe = spawn_probe();
  run();
  for (int i = 0; i < 3; ++i) caf::anon_send(probe, msg::abort{});
  run();
  EXPECT_EQ(seen_, (std::vector<std::int64_t>{2, 1, 0}));
  EXPECT_EQ(metrics_->actor("probe").mailbox_size(), 0);
  EXPECT_EQ(handled("abort"), 3);
  EXPECT_EQ(handled("count"), 0);
}

// Else the figures of a quiet service would tell of nothing else.
TEST_F(Measured, StockTakingIsNoWork) {
  const probe_actor probe = spawn_probe();
  run();
  for (int i = 0; i < 3; ++i) caf::anon_send(probe, msg::take_stock{});
  run();
  EXPECT_EQ(stocks_, 3);
  EXPECT_EQ(handled("take_stock"), -1);
  EXPECT_EQ(metrics_->pulse(probe.id())->last_message(), std::nullopt);
}

TEST_F(Measured, AnAnswerComesThrough) {
  const probe_actor probe = spawn_probe();
  caf::scoped_actor client{system_};
  auto answer = client->request(probe, caf::infinite, msg::count{});
  run();
  answer.receive([](const msg::tokenizer_counts& count) { EXPECT_EQ(count.streams, 7U); },
                 [](const caf::error&) { ADD_FAILURE(); });
  EXPECT_EQ(handled("count"), 1);
}

}  // namespace
}  // namespace troupe::test
