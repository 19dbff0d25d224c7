#include "actors/net/background_worker.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace troupe::net {
namespace {

asio::awaitable<void> run_all(background_worker& worker, asio::io_context& context,
                              const std::vector<std::function<void()>>& works) {
  for (const std::function<void()>& work : works) co_await worker.run(context, work);
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

TEST(background_worker, does_what_comes_in_order) {
  asio::io_context context;
  background_worker worker;
  std::string order;
  const std::vector<std::function<void()>> letters{[&] { order += 'a'; }};
  const std::vector<std::function<void()>> digits{[&] { order += '1'; }, [&] { order += '2'; }};
  asio::co_spawn(context, run_all(worker, context, letters), [](std::exception_ptr) {});
  asio::co_spawn(context, run_all(worker, context, digits), [](std::exception_ptr) {});
  context.run();
  EXPECT_EQ(order, "a12");
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
