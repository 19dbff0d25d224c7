#include "actors/net/sockets/mailbox.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace troupe::net {
namespace {

TEST(mailbox, everything_that_fits_arrives_in_order_from_each_thread) {
  constexpr int count = 2000;
  asio::io_context context;
  std::vector<std::pair<int, int>> arrived;
  std::shared_ptr<mailbox<std::pair<int, int>>> box;
  box = std::make_shared<mailbox<std::pair<int, int>>>(context, 1U << 30U, [&](bool overflowed) {
    EXPECT_FALSE(overflowed);
    for (const auto& item : box->take()) arrived.push_back(item);
  });
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 3; ++sender) {
    senders.emplace_back([box, sender] {
      for (int i = 0; i < count; ++i) box->push({sender, i}, 1);
    });
  }
  while (arrived.size() < 3U * count) {
    context.restart();
    context.run_one();
  }
  for (std::thread& sender : senders) sender.join();
  std::vector<int> next(3, 0);
  for (const auto& [sender, i] : arrived) EXPECT_EQ(next[static_cast<std::size_t>(sender)]++, i);
}

TEST(mailbox, holds_no_more_than_its_bound_and_one_item) {
  asio::io_context context;
  bool told = false;
  const auto box =
      std::make_shared<mailbox<std::string>>(context, 100, [&](bool overflowed) { told = overflowed; });
  box->push("large", 1000);
  context.run();
  EXPECT_FALSE(told) << "one item may be larger than the bound";
  box->push("one too many", 1);
  context.restart();
  context.run();
  EXPECT_TRUE(told);
  EXPECT_EQ(box->take().size(), 1U);
  box->push("after", 1);
  EXPECT_TRUE(box->take().empty());
}

TEST(mailbox, a_closed_one_takes_nothing_and_touches_no_context) {
  auto context = std::make_unique<asio::io_context>();
  bool woken = false;
  const auto box = std::make_shared<mailbox<int>>(*context, 100, [&](bool) { woken = true; });
  box->push(1, 1);
  box->close();
  context->run();
  context.reset();
  box->push(2, 1);
  EXPECT_FALSE(woken);
  EXPECT_TRUE(box->take().empty());
}

TEST(mailbox, who_takes_one_over_hears_of_what_waits_and_may_close_it) {
  asio::io_context context;
  const auto box = std::make_shared<mailbox<int>>(context, 100, [](bool) { FAIL() << "it is another's"; });
  box->push(1, 1);
  std::vector<int> arrived;
  {
    mailbox<int>::closer at_end(*box);
    at_end.let_go();
  }
  box->hand_over([&](bool) {
    for (const int each : box->take()) arrived.push_back(each);
    if (arrived.size() == 2) box->close();
  });
  context.run();
  EXPECT_EQ(arrived, std::vector{1});
  for (const int next : {2, 3}) {
    box->push(next, 1);
    context.restart();
    context.run();
  }
  EXPECT_EQ(arrived, (std::vector{1, 2}));
}

}  // namespace
}  // namespace troupe::net
