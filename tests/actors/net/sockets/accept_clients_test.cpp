#include "actors/net/sockets/accept_clients.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/sockets/listener.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"

namespace troupe::net::testing {
namespace {

class accept_clients_test : public ::testing::Test {
 protected:
  accept_clients_test() {
    asio::co_spawn(
        context_,
        accept_clients(acceptor_, {.admit = [this](tcp::socket client) { admit(std::move(client)); },
                                   .speaks_first = [this] { return speaks_first_; }}),
        [](std::exception_ptr) {});
  }

  // Those who have connected by now, until so many have been admitted.
  void accept(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (taken_.size() < count && std::chrono::steady_clock::now() < end)
      context_.run_one_for(std::chrono::milliseconds(100));
    context_.poll();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  // What each of them has sent, as far as it has come.
  std::vector<std::string> words() {
    std::vector<std::string> said;
    for (tcp::socket& each : taken_) {
      std::array<char, 64> bytes;
      asio_error at_end;
      said.emplace_back(bytes.data(), each.read_some(asio::buffer(bytes), at_end));
    }
    return said;
  }

  asio::io_context context_;
  tcp::acceptor acceptor_ = listen_on(context_, {.host = "127.0.0.1", .port = 0}).value();
  std::vector<tcp::socket> taken_;
  bool speaks_first_ = false;
  bool fails_ = false;  // the next one

 private:
  void admit(tcp::socket client) {
    if (std::exchange(fails_, false)) throw std::runtime_error("no memory");
    taken_.push_back(std::move(client));
  }
};

// Whoever has reset the connection, or asks for nothing and is to be told nothing.
TEST_F(accept_clients_test, hands_nobody_over_who_is_over_before_his_turn) {
  for (const bool speaks_first : {false, true}) {
    speaks_first_ = speaks_first;
    raw_client first(port()), gone(port()), silent(port()), stopped(port()), last(port());
    first.send("first");
    gone.reset();
    silent.finish_sending();
    stopped.send("stopped");
    stopped.finish_sending();
    last.send("last");
    accept(speaks_first ? 4 : 3);
    if (speaks_first)
      EXPECT_EQ(words(), std::vector<std::string>({"first", "", "stopped", "last"}));
    else
      EXPECT_EQ(words(), std::vector<std::string>({"first", "stopped", "last"}));
    taken_.clear();
  }
}

TEST_F(accept_clients_test, a_crowd_is_handed_over_in_its_order) {
  std::vector<raw_client> crowd;
  std::vector<std::string> sent;
  for (int i = 0; i < 100; ++i) {
    crowd.emplace_back(port());
    sent.push_back(std::to_string(i));
    crowd.back().send(sent.back());
  }
  accept(crowd.size());
  EXPECT_EQ(words(), sent);
}

TEST_F(accept_clients_test, what_one_client_costs_the_next_do_not_pay_for) {
  raw_client lost(port());
  raw_client next(port());
  next.send("next");
  fails_ = true;
  accept(1);
  EXPECT_EQ(words(), std::vector<std::string>({"next"}));
  EXPECT_TRUE(lost.at_end());
}

// Also where several wait and one of the others' descriptors is free.
TEST_F(accept_clients_test, no_client_gets_a_descriptor_of_the_services_own) {
  raw_client first(port());
  raw_client second(port());
  first.send("first");
  second.send("second");
  constexpr int limit = 256;
  const int first_of_service = limit - static_cast<int>(descriptors_kept(limit));
  rlimit old{};
  ::getrlimit(RLIMIT_NOFILE, &old);
  const rlimit low{limit, old.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &low);
  std::vector<int> spent;
  do {
    spent.push_back(::open("/dev/null", O_RDONLY));
  } while (spent.back() >= 0 && spent.back() < first_of_service - 1);
  ASSERT_EQ(spent.back(), first_of_service - 1);
  for (std::size_t count = 1; count <= 2; ++count) {
    ::close(spent[count]);
    accept(count);
    EXPECT_EQ(taken_.size(), count);
    EXPECT_LT(taken_.back().native_handle(), first_of_service);
  }
  for (std::size_t i = 0; i < spent.size(); ++i)
    if (i != 1 && i != 2) ::close(spent[i]);
  ::setrlimit(RLIMIT_NOFILE, &old);
}

TEST_F(accept_clients_test, what_is_written_goes_out_at_once_and_a_client_that_is_gone_is_noticed) {
  raw_client client(port());
  accept(1);
  ASSERT_EQ(taken_.size(), 1U);
  tcp::no_delay at_once;
  asio::socket_base::keep_alive looks;
  taken_[0].get_option(at_once);
  taken_[0].get_option(looks);
  EXPECT_TRUE(at_once.value());
  EXPECT_TRUE(looks.value());
}

}  // namespace
}  // namespace troupe::net::testing
