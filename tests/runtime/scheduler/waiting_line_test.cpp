#include "runtime/scheduler/waiting_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/runtime/scheduler/queue_driver.hpp"

namespace troupe {
namespace {

std::vector<request_id> look(waiting_line line, std::size_t most) {
  std::vector<request_id> ids;
  while (ids.size() < most) {
    const sequence* who = line.next();
    if (who == nullptr) break;
    ids.push_back(who->id);
  }
  return ids;
}

TEST(waiting_line, names_those_that_the_queue_names_in_its_order) {
  for (const auto policy : {scheduling_policy::fcfs, scheduling_policy::priority, scheduling_policy::lpm,
                            scheduling_policy::drr}) {
    queue_driver driver(policy);
    for (int i = 0; i < 300; ++i) driver.add(10 + i % 7, std::to_string(i % 5), i % 11, i % 3);
    for (int i = 0; i < 50; ++i) driver.admit();
    const std::vector<request_id> all = driver.order();
    ASSERT_EQ(all.size(), 250U);
    for (const std::size_t most : {0U, 1U, 7U, 249U, 250U, 1000U})
      for (const std::size_t at_once : {0U, 1U, 3U, 250U, 2000U}) {
        const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(most, all.size()));
        EXPECT_EQ(look({*driver.queue, at_once, most}, 2000), std::vector<request_id>(all.begin(), end))
            << most << " " << at_once;
      }
  }
}

// Counts what is listed.
class counting_queue final : public waiting_queue {
 public:
  explicit counting_queue(std::vector<sequence>& all) : all_(all) {}
  std::size_t size() const override { return all_.size(); }
  void add(sequence&) override {}
  void remove(sequence&) override {}
  std::size_t listed() const { return listed_; }

 private:
  void order(std::size_t most, std::vector<sequence*>& ordered) const override {
    for (std::size_t i = 0; i < std::min(most, all_.size()); ++i) ordered.push_back(&all_[i]);
    listed_ += ordered.size();
  }
  std::vector<sequence>& all_;
  mutable std::size_t listed_ = 0;
};

TEST(waiting_line, lists_in_proportion_to_those_that_are_looked_at) {
  std::vector<sequence> all(100'000);
  for (const std::size_t looked_at : {1U, 5U, 100U, 3'000U}) {
    counting_queue queue(all);
    EXPECT_EQ(look({queue, 4, all.size()}, looked_at).size(), looked_at);
    EXPECT_LE(queue.listed(), std::max<std::size_t>(4, 4 * looked_at)) << looked_at;
  }
}

}  // namespace
}  // namespace troupe
