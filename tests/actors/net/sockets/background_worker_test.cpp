#include "actors/net/sockets/background_worker.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::net {
namespace {

const std::atomic<bool> not_gone = false;

asio::awaitable<void> run_all(background_worker& worker, asio::io_context& context,
                              const std::vector<std::function<void()>>& works) {
  for (const std::function<void()>& work : works) co_await worker.run(context, 1, not_gone, work);
}

asio::awaitable<void> run_one(background_worker& worker, asio::io_context& context, std::size_t bytes,
                              const std::atomic<bool>& gone, const std::function<void()>& work) {
  co_await worker.run(context, bytes, gone, work);
}

TEST(background_worker, works_on_a_thread_of_the_lowest_priority_and_comes_back) {
  asio::io_context context;
  background_worker worker;
  std::thread::id at_work;
  int priority = 0;
  std::thread::id after;
  const std::vector<std::function<void()>> works{[&] {
    at_work = std::this_thread::get_id();
    priority = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
  }};
  asio::co_spawn(context, run_all(worker, context, works),
                 [&](std::exception_ptr) { after = std::this_thread::get_id(); });
  context.run();
  EXPECT_NE(at_work, std::this_thread::get_id());
  EXPECT_EQ(priority, 19);
  EXPECT_EQ(after, std::this_thread::get_id());
}

TEST(background_worker, the_servers_thread_goes_on_meanwhile) {
  asio::io_context context;
  background_worker worker;
  std::promise<void> other_is_served;
  std::string order;
  const std::vector<std::function<void()>> works{[&] {
    other_is_served.get_future().wait();
    order += "work ";
  }};
  asio::co_spawn(context, run_all(worker, context, works), [&](std::exception_ptr) { order += "end"; });
  asio::post(context, [&] {
    order += "other ";
    other_is_served.set_value();
  });
  context.run();
  EXPECT_EQ(order, "other work end");
}

TEST(background_worker, what_has_least_to_read_goes_first_and_equals_in_order) {
  asio::io_context context;
  background_worker worker;
  std::promise<void> all_wait;
  std::string order;
  const std::function<void()> first = [&] { all_wait.get_future().wait(); };
  asio::co_spawn(context, run_one(worker, context, 9, not_gone, first), [](std::exception_ptr) {});
  context.poll();  // it runs, or is the only one
  const std::vector<std::pair<std::size_t, char>> sizes{{300, 'd'}, {100, 'a'}, {200, 'b'}, {200, 'c'}};
  std::vector<std::function<void()>> works;
  for (const auto& [bytes, letter] : sizes)
    works.emplace_back([&order, letter = letter] { order += letter; });
  for (std::size_t i = 0; i < sizes.size(); ++i)
    asio::co_spawn(context, run_one(worker, context, sizes[i].first, not_gone, works[i]),
                   [](std::exception_ptr) {});
  context.poll();
  all_wait.set_value();
  context.run();
  EXPECT_EQ(order, "abcd");
}

TEST(background_worker, nothing_is_done_for_who_has_gone) {
  asio::io_context context;
  background_worker worker;
  std::atomic<bool> gone = true;
  bool done = false;
  bool ended = false;
  const std::function<void()> work = [&] { done = true; };
  asio::co_spawn(context, run_one(worker, context, 1, gone, work),
                 [&](std::exception_ptr failure) { ended = failure == nullptr; });
  context.run();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(done);
}

TEST(background_worker, what_the_work_throws_is_thrown_where_it_was_asked_for) {
  asio::io_context context;
  background_worker worker;
  std::string caught;
  const std::vector<std::function<void()>> works{[] { throw std::runtime_error("no memory"); }};
  asio::co_spawn(context, run_all(worker, context, works), [&](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::runtime_error& fault) {
      caught = fault.what();
    }
  });
  context.run();
  EXPECT_EQ(caught, "no memory");
}

}  // namespace
}  // namespace troupe::net
