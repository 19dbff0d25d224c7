// That nobody starves, under any policy: random loads in which others keep coming.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/scheduler/lpm_queue.hpp"
#include "tests/runtime/scheduler/queue_driver.hpp"

namespace troupe {
namespace {

// Preempted requests come back to their old places.
TEST(no_starvation, fcfs_lets_nobody_be_passed) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    queue_driver driver(scheduling_policy::fcfs);
    for (int i = 0; i < 1000; ++i) {
      while (driver.queue->size() < 20 + random() % 10) {
        driver.add(1 + static_cast<std::int32_t>(random() % 300), std::to_string(random() % 4),
                   static_cast<std::int32_t>(random() % 64), static_cast<std::int32_t>(random() % 3));
      }
      const std::vector<request_id> waiting = driver.order();
      sequence& who = driver.admit();
      ASSERT_EQ(who.id, *std::min_element(waiting.begin(), waiting.end())) << "seed " << seed;
      if (random() % 3 == 0) {
        driver.preempt(who);
      } else {
        driver.finish(who, static_cast<std::int32_t>(random() % 50));
      }
    }
  }
}

// Some 50 always wait, newcomers keep coming, and a quarter of the admitted are preempted. From its arrival
// on no request waits for more than `bound` admissions and those of its elders.
template <class AddNewcomer>
void expect_nobody_is_passed_for_ever(scheduling_policy policy, std::uint64_t bound, std::mt19937_64& random,
                                      AddNewcomer add_newcomer) {
  queue_driver driver(policy);
  std::map<request_id, std::uint64_t> latest;  // admissions by which each that waits has to be in
  std::uint64_t admissions = 0;
  for (int i = 0; i < 1000; ++i) {
    while (driver.queue->size() < 50 + random() % 10) {
      const sequence& who = add_newcomer(driver, i);
      latest[who.id] = admissions + bound + driver.queue->size();
    }
    sequence& who = driver.admit();
    ASSERT_LE(++admissions, latest.at(who.id));
    if (random() % 4 == 0) {
      driver.preempt(who);
      const auto waiting = driver.order();
      const auto elders =
          std::count_if(waiting.begin(), waiting.end(), [&](auto id) { return id <= who.id; });
      latest[who.id] = std::max(latest[who.id], admissions + static_cast<std::uint64_t>(elders));
      for (auto& [id, each] : latest) each += id > who.id ? 1 : 0;  // an elder that is admitted once more
    } else {
      latest.erase(who.id);
    }
    for (const auto& [id, each] : latest) ASSERT_GE(each, admissions) << id;
  }
}

TEST(no_starvation, lpm_lets_nobody_be_passed_for_ever) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    expect_nobody_is_passed_for_ever(
        scheduling_policy::lpm, lpm_queue::patience, random, [&](queue_driver& driver, int) -> sequence& {
          const bool is_cached = random() % 4 != 0;
          return driver.add(64, "", is_cached ? static_cast<std::int32_t>(16 + random() % 48) : 0);
        });
  }
}

TEST(no_starvation, priority_lets_nobody_be_passed_for_ever) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    expect_nobody_is_passed_for_ever(scheduling_policy::priority, patience, random,
                                     [&](queue_driver& driver, int round) -> sequence& {
                                       const auto number = static_cast<std::int32_t>(random() % 1000);
                                       return driver.add(64, "", 0, number - round);
                                     });
  }
}

// Many run side by side, each until its output is over, or until it is preempted; then it comes back.
class crowded_engine {
 public:
  static constexpr std::int32_t largest_prompt = 300;
  static constexpr std::int32_t longest_output = 50;

  crowded_engine(std::uint64_t seed, std::size_t places) : random_(seed), places_(places) {}
  virtual ~crowded_engine() = default;

  void run(int turns) {
    for (int i = 0; i < turns && !::testing::Test::HasFatalFailure(); ++i) {
      come();
      while (running_.size() < places_) admit();
      leave();
    }
  }

 protected:
  // Until there are as many as there always are.
  virtual void come() = 0;
  // For the first time.
  virtual void admitted(const sequence& who) = 0;
  // Tokens: a prompt when it is admitted, an output when it is over.
  virtual void given(const std::string& tenant, std::int64_t tokens) = 0;

  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below)); }
  sequence& add(std::int32_t prompt, const std::string& tenant) { return driver_.add(prompt, tenant); }
  std::size_t num_waiting() const { return driver_.queue->size(); }
  std::int64_t outputs_under_way() const { return static_cast<std::int64_t>(places_) * longest_output; }
  std::int64_t most_apart() const {
    return quantum + 2 * (largest_prompt + longest_output) + outputs_under_way();
  }

 private:
  void admit() {
    sequence& who = *driver_.queue->next(1).front();
    const bool is_first = !who.details->admitted_once;
    driver_.admit();
    running_.push_back(&who);
    if (!is_first) return;
    given(who.details->tenant, who.prompt_length);
    admitted(who);
  }
  void leave() {
    const auto one = running_.begin() + draw(static_cast<int>(running_.size()));
    sequence& who = **one;
    running_.erase(one);
    if (draw(5) == 0) {
      return driver_.preempt(who);
    }
    const int output = draw(longest_output);
    driver_.finish(who, output);
    given(who.details->tenant, output);
  }

  std::mt19937_64 random_;
  std::size_t places_;
  queue_driver driver_{scheduling_policy::drr};
  std::vector<sequence*> running_;
};

// The first floods, the second asks for much at once, the third for little.
class tenants_that_always_wait final : public crowded_engine {
 public:
  using crowded_engine::crowded_engine;

 private:
  void come() override {
    while (waits_["a"] < 100) add_one(1 + draw(largest_prompt), "a");
    while (waits_["b"] < 40) add_one(largest_prompt, "b");
    while (waits_["c"] < 40) add_one(1 + draw(20), "c");
  }
  void add_one(std::int32_t prompt, const std::string& tenant) {
    add(prompt, tenant);
    ++waits_[tenant];
  }
  void admitted(const sequence& who) override { --waits_[who.details->tenant]; }
  void given(const std::string& tenant, std::int64_t tokens) override {
    given_[tenant] += tokens;
    for (const auto& [other, fewer] : given_)
      ASSERT_LE(given_[tenant] - fewer, most_apart()) << tenant << " " << other;
  }

  std::map<std::string, int> waits_;
  std::map<std::string, std::int64_t> given_{{"a", 0}, {"b", 0}, {"c", 0}};
};

TEST(no_starvation, drr_gives_tenants_that_always_wait_the_same_tokens) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    tenants_that_always_wait(seed, 1 + seed).run(1000);
  }
}

// Tenants come and go, some under names that nobody has seen.
class tenants_that_come_and_go final : public crowded_engine {
 public:
  using crowded_engine::crowded_engine;

 private:
  // What was given while a request waited.
  struct wait {
    std::string tenant;
    std::map<std::string, std::int64_t> given = {};  // tokens, by tenant
  };
  static constexpr std::size_t most_waiting = 50;

  void come() override {
    while (num_waiting() < most_waiting - 20 + static_cast<std::size_t>(draw(20))) {
      const std::string tenant =
          draw(4) == 0 ? "new " + std::to_string(++names_) : "old " + std::to_string(draw(3));
      waits_[add(1 + draw(largest_prompt), tenant).id] = {tenant};
    }
  }
  void admitted(const sequence& who) override {
    wait own = waits_.at(who.id);
    waits_.erase(who.id);
    // Its tenant may owe what its requests have generated before.
    const std::int64_t fair = own.given[own.tenant] + outputs_under_way();
    for (const auto& [tenant, tokens] : own.given) ASSERT_LE(tokens, fair + most_apart()) << tenant;
    // At each turn of its own tenant every other one may have one, too.
    ASSERT_LE(own.given.size(), most_waiting * static_cast<std::size_t>(fair / quantum + 3));
  }
  void given(const std::string& tenant, std::int64_t tokens) override {
    for (auto& [id, each] : waits_) each.given[tenant] += tokens;
  }

  std::map<request_id, wait> waits_;
  int names_ = 0;
};

TEST(no_starvation, drr_serves_no_tenant_much_more_than_one_that_waits) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    tenants_that_come_and_go(seed, 1 + seed).run(1000);
  }
}

}  // namespace
}  // namespace troupe
