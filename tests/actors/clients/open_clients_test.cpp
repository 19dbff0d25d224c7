// Clients that are told of the end by nobody else, and what a gateway refuses itself.
#include "actors/clients/open_clients.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "actors/clients/client_calls.hpp"
#include "actors/clients/refusal_counter.hpp"
#include "metrics/engine_metrics.hpp"
#include "metrics/exposition.hpp"
#include "tests/actors/company_fixture.hpp"

namespace troupe::test {
namespace {

struct OpenClients : testing::Test {
  std::shared_ptr<client_stream> open(request_id id) {
    return client_stream::open(
        id, [this](const stream_event& event) { heard.push_back(event); }, metrics, clients, nullptr);
  }
  double errors() const {
    return metrics::exposition(metrics->text()).sum("troupe_request_errors_total").value_or(-1);
  }

  std::shared_ptr<metrics::engine_metrics> metrics =
      std::make_shared<metrics::engine_metrics>(metrics::metrics_options{});
  std::shared_ptr<open_clients> clients = std::make_shared<open_clients>();
  std::vector<stream_event> heard;
};

TEST_F(OpenClients, AreAllToldOfTheEndOnceAndHearNothingAfterIt) {
  const auto one = open(1);
  const auto two = open(2);
  auto ended = open(3);
  stream_event end{.id = 3};
  end.end.emplace();
  ended->push(end);
  open(4).reset();  // its gateway let go of it
  ASSERT_EQ(heard.size(), 2U);
  clients->end_all({error_code::unavailable, "the end"});
  ASSERT_EQ(heard.size(), 4U);
  for (std::size_t i = 2; i < 4; ++i) EXPECT_EQ(heard[i].end->failure->message, "the end");
  one->push({.id = 1, .text = "late"});
  clients->end_all({error_code::unavailable, "the end"});
  EXPECT_EQ(heard.size(), 4U);
  EXPECT_EQ(errors(), 3) << "two of the end and the one that was let go of";
}

TEST_F(OpenClients, OfOnePortAreToldOfItsEndAndNobodyElse) {
  const actor_port ports[2] = {{gateway_actor(), {}}, {gateway_actor(), {}}};
  const auto of_port = [&](request_id id, const actor_port& port) {
    return client_stream::open(
        id, [this](const stream_event& event) { heard.push_back(event); }, metrics, clients, &port);
  };
  const auto one = of_port(1, ports[0]);
  const auto two = of_port(2, ports[1]);
  const auto three = open(3);
  clients->end_all_of(&ports[1], {error_code::unavailable, "the end"});
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].id, 2U);
}

TEST(ActorPort, WhoseGatewayEndsEndsItsStreamsAndAllThatComeLater) {
  stage stage;
  stage.run();
  const auto unread = stage.ask("hello", 5);
  stage.port().end_streams({error_code::unavailable, "the end"});
  const auto late = stage.ask("hello", 5);
  for (const auto& who : {unread, late}) {
    ASSERT_EQ(who->ends.size(), 1U);
    EXPECT_EQ(who->ends[0].failure->code, error_code::unavailable);
  }
  stage.run();
  for (const auto& who : {unread, late}) EXPECT_EQ(who->events_after_end, 0U);
  EXPECT_TRUE(late->text.empty());
}

TEST_F(OpenClients, AreCountedAsRefusedByTheirGatewayOnlyWhereTheEngineDidNotHaveThem) {
  refusal_counter counter(metrics);
  request_report report;
  report.failure = request_failure{400, "invalid_value"};
  counter.ended(report);
  report.number = 7;
  counter.ended(report);
  report = {};
  counter.ended(report);
  EXPECT_EQ(errors(), 1);
}

}  // namespace
}  // namespace troupe::test
