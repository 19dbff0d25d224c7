#include "runtime/scheduler/waiting_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "runtime/scheduler/lpm_queue.hpp"
#include "tests/runtime/scheduler/queue_driver.hpp"

namespace troupe {
namespace {

using ids = std::vector<request_id>;

TEST(waiting_queue, every_policy_has_a_word) {
  EXPECT_EQ(parse_policy("fcfs"), scheduling_policy::fcfs);
  EXPECT_EQ(parse_policy("priority"), scheduling_policy::priority);
  EXPECT_EQ(parse_policy("lpm"), scheduling_policy::lpm);
  EXPECT_EQ(parse_policy("drr"), scheduling_policy::drr);
  EXPECT_EQ(parse_policy("LPM"), std::nullopt);
}

TEST(waiting_queue, lpm_admits_the_longest_cached_prefix_first_and_equal_ones_in_order) {
  queue_driver driver(scheduling_policy::lpm);
  for (const std::int32_t cached : {0, 32, 16, 32, 0}) driver.add(64, "", cached);
  EXPECT_EQ(driver.order(), (ids{2, 4, 3, 1, 5}));
  EXPECT_EQ(driver.queue->ahead_of(driver.all[0]), 3U);
  std::vector<request_id> asked;
  driver.queue->want_prefixes(asked);
  EXPECT_EQ(asked, (ids{1, 2, 3, 4, 5}));
}

TEST(waiting_queue, lpm_asks_for_a_few_prefixes_at_a_time_and_for_all_that_it_compares_in_turn) {
  queue_driver driver(scheduling_policy::lpm);
  for (std::size_t i = 0; i < 3 * lpm_queue::most_compared; ++i) driver.add(64);
  for (int round = 0; round < 3; ++round) {
    std::vector<request_id> asked;
    for (std::size_t turns = 0; turns < lpm_queue::most_compared / lpm_queue::most_asked; ++turns) {
      const std::size_t before = asked.size();
      driver.queue->want_prefixes(asked);
      EXPECT_EQ(asked.size() - before, lpm_queue::most_asked);
    }
    std::sort(asked.begin(), asked.end());
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(asked[i], i + 1);
  }
  // Those whose turn has come may be gone by then.
  while (driver.queue->size() > 3) driver.admit();
  std::vector<request_id> asked;
  driver.queue->want_prefixes(asked);
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, driver.order());
}

// A queue that holds so many. What comes when it is full takes another's place, or is refused.
struct full_queue_driver : queue_driver {
  std::size_t limit;
  std::set<request_id> displaced;

  explicit full_queue_driver(std::size_t most) : queue_driver(scheduling_policy::priority), limit(most) {}

  sequence* come(std::int32_t priority) {
    if (queue->size() == limit) {
      sequence* worst = queue->gives_way_to(priority);
      if (worst == nullptr) return nullptr;
      EXPECT_GT(worst->details->priority, priority);
      EXPECT_FALSE(worst->details->admitted_once) << "its answer has begun";
      EXPECT_TRUE(displaced.insert(worst->id).second);
      queue->remove(*worst);
      worst->ended = true;
    }
    return &add(64, "", 0, priority);
  }
};

TEST(waiting_queue, a_full_priority_queue_gives_up_the_youngest_of_the_highest_number) {
  full_queue_driver driver(4);
  for (const std::int32_t priority : {5, 7, 7, 1}) driver.come(priority);
  EXPECT_EQ(driver.come(7), nullptr) << "it is no better than the worst";
  EXPECT_EQ(driver.come(8), nullptr);
  EXPECT_NE(driver.come(0), nullptr);
  EXPECT_EQ(driver.displaced, (std::set<request_id>{3}));
  for (const scheduling_policy policy :
       {scheduling_policy::fcfs, scheduling_policy::lpm, scheduling_policy::drr}) {
    queue_driver other(policy);
    other.add(64, "", 0, 7);
    EXPECT_EQ(other.queue->gives_way_to(0), nullptr);
  }
}

TEST(waiting_queue, neither_who_has_begun_nor_who_is_overdue_gives_way) {
  full_queue_driver driver(2);
  sequence& preempted = *driver.come(9);
  driver.admit();
  driver.queue->add(preempted);
  const sequence& young = *driver.come(1);
  EXPECT_NE(driver.come(0), nullptr);
  EXPECT_EQ(driver.displaced, (std::set<request_id>{young.id}));

  full_queue_driver other(2);
  const sequence& old = *other.come(8);
  for (std::int32_t i = 0; i < patience; ++i) {
    other.come(0);
    other.admit();
  }
  EXPECT_FALSE(old.running);
  const sequence& late = *other.come(7);
  EXPECT_NE(other.come(0), nullptr);
  EXPECT_EQ(other.displaced, (std::set<request_id>{late.id}));
}

TEST(waiting_queue, after_one_that_gave_way_the_next_is_spared_until_it_runs) {
  full_queue_driver driver(1);
  for (int round = 0; round < 3; ++round) {
    driver.come(5);
    EXPECT_NE(driver.come(0), nullptr);
    EXPECT_EQ(driver.admit().details->priority, 0);
    driver.come(5);
    EXPECT_EQ(driver.come(0), nullptr);
    EXPECT_EQ(driver.come(0), nullptr);
    EXPECT_EQ(driver.admit().details->priority, 5);
  }
}

// Better ones keep coming, more than there is room for.
TEST(waiting_queue, a_full_priority_queue_lets_every_kind_run) {
  for (const std::size_t limit : {1U, 2U, 5U, 30U}) {
    full_queue_driver driver(limit);
    std::uint64_t admissions = 0;
    std::uint64_t last_poor = 0;
    std::map<request_id, std::uint64_t> bound;  // admissions by which it has to be in, or to have given way
    for (int i = 0; i < 2000; ++i) {
      for (const std::int32_t priority : {9, 0, 0, 5, 0}) {
        const sequence* who = driver.come(priority);
        if (who != nullptr) bound[who->id] = admissions + static_cast<std::uint64_t>(patience) + limit;
        ASSERT_LE(driver.queue->size(), limit);
      }
      const sequence& who = driver.admit();
      ASSERT_LE(++admissions, bound.at(who.id));
      bound.erase(who.id);
      for (const request_id id : driver.displaced) bound.erase(id);
      for (const auto& [id, latest] : bound) ASSERT_GE(latest, admissions);
      if (who.details->priority == 9) last_poor = admissions;
      ASSERT_LE(admissions - last_poor, 2 * (static_cast<std::uint64_t>(patience) + limit) + 4)
          << "the poorest are always displaced, limit " << limit;
    }
    EXPECT_GT(driver.displaced.size(), 500U);
  }
}

TEST(waiting_queue, lpm_compares_more_than_it_is_asked_for) {
  queue_driver driver(scheduling_policy::lpm);
  for (const std::int32_t cached : {0, 0, 32}) driver.add(64, "", cached);
  EXPECT_EQ(driver.queue->next(1).front()->id, 3U);
}

TEST(waiting_queue, lpm_finds_nobody_overdue_who_came_late) {
  queue_driver driver(scheduling_policy::lpm);
  for (std::uint64_t i = 0; i < lpm_queue::patience; ++i) {
    driver.add(64);
    driver.admit();
  }
  const sequence& plain = driver.add(64);
  const sequence& cached = driver.add(64, "", 32);
  EXPECT_EQ(driver.order(), (ids{cached.id, plain.id}));
}

TEST(waiting_queue, of_equal_priorities_nobody_takes_anothers_place) {
  queue_driver driver(scheduling_policy::priority);
  const sequence& one = driver.add(10, "", 0, 5);
  const sequence& other = driver.add(10, "", 0, 5);
  EXPECT_FALSE(driver.queue->preempts(other, one));
  EXPECT_FALSE(driver.queue->yields_before(one, other));
}

TEST(waiting_queue, no_policy_names_more_than_it_is_asked_for) {
  for (const scheduling_policy policy : {scheduling_policy::fcfs, scheduling_policy::priority,
                                         scheduling_policy::lpm, scheduling_policy::drr}) {
    queue_driver driver(policy);
    for (int i = 0; i < 5; ++i) driver.add(10);
    EXPECT_EQ(driver.queue->next(2).size(), 2U);
    for (int i = 0; i < patience; ++i) {
      driver.add(10, "", 64, -1);
      driver.admit();
    }
    EXPECT_EQ(driver.queue->next(2).size(), 2U) << "also of those that are overdue";
  }
}

TEST(waiting_queue, who_is_overdue_goes_first_and_keeps_its_place_for_the_rest_of_its_life) {
  queue_driver driver(scheduling_policy::priority);
  sequence& late = driver.add(10, "", 0, 9);
  sequence& later = driver.add(10, "", 0, 8);
  for (int i = 0; i < patience; ++i) {
    EXPECT_EQ(driver.order().back(), late.id);
    driver.add(10, "", 0, 1);
    driver.admit();
  }
  const sequence& young = driver.add(10, "", 0, 5);
  const sequence& urgent = driver.add(10, "", 0, 0);
  EXPECT_EQ(driver.order(), (ids{late.id, later.id, urgent.id, young.id})) << "the oldest first";
  EXPECT_EQ(driver.queue->ahead_of(urgent), 2U);
  EXPECT_EQ(driver.queue->size(), 4U);
  EXPECT_TRUE(driver.queue->preempts(urgent, young));
  EXPECT_FALSE(driver.queue->preempts(urgent, late));
  EXPECT_FALSE(driver.queue->preempts(late, young)) << "its turn has come, its rank is what it was";
  EXPECT_TRUE(driver.queue->yields_before(young, late));
  EXPECT_FALSE(driver.queue->yields_before(late, young));
  EXPECT_FALSE(driver.queue->yields_before(late, later)) << "of two that are overdue, who runs for less time";
  driver.admit();
  driver.preempt(late);
  EXPECT_EQ(driver.order().front(), late.id);
}

TEST(waiting_queue, priority_without_a_bound_goes_by_priority_alone) {
  queue_driver driver(scheduling_policy::priority);
  driver.queue = make_waiting_queue(scheduling_policy::priority, quantum, 0);
  sequence& last = driver.add(10, "", 0, 9);
  for (int i = 0; i < 1000; ++i) {
    driver.add(10, "", 0, 1);
    ASSERT_NE(&driver.admit(), &last);
  }
}

TEST(waiting_queue, drr_takes_turns_by_tokens_not_by_requests) {
  queue_driver driver(scheduling_policy::drr);
  for (int i = 0; i < 4; ++i) driver.add(50, "small");
  for (int i = 0; i < 2; ++i) driver.add(100, "large");
  EXPECT_EQ(driver.order(), (ids{1, 2, 5, 3, 4, 6})) << "two of 50 cost a quantum of 100, as one of 100 does";
  EXPECT_EQ(driver.queue->ahead_of(driver.all[4]), 2U);
}

TEST(waiting_queue, drr_counts_the_output_too) {
  queue_driver driver(scheduling_policy::drr);
  driver.add(100, "talks");
  driver.add(100, "talks");
  driver.add(100, "listens");
  driver.add(100, "listens");
  driver.finish(driver.admit(), 200);
  EXPECT_EQ(driver.order(), (ids{3, 4, 2}));
}

TEST(waiting_queue, drr_saves_nothing_up_while_a_tenant_has_nothing_to_do) {
  queue_driver driver(scheduling_policy::drr);
  sequence& idle = driver.add(10, "idle");
  ASSERT_EQ(&driver.admit(), &idle);  // runs on and on
  for (int i = 0; i < 20; ++i) driver.add(100, "busy");
  for (int i = 0; i < 10; ++i) driver.finish(driver.admit(), 0);
  for (int i = 0; i < 10; ++i) driver.add(100, "idle");
  int idle_admitted = 0;
  for (int i = 0; i < 10; ++i) {
    sequence& who = driver.admit();
    idle_admitted += who.details->tenant == "idle" ? 1 : 0;
    driver.finish(who, 0);
  }
  EXPECT_EQ(idle_admitted, 5);
}

TEST(waiting_queue, drr_forgets_the_debt_of_a_tenant_that_has_nothing_left) {
  queue_driver driver(scheduling_policy::drr);
  driver.add(100, "gone");
  sequence& who = driver.admit();
  driver.preempt(who);
  driver.finish(driver.admit(), 5000);
  driver.add(100, "gone");
  driver.add(100, "new");
  driver.add(100, "gone");
  EXPECT_EQ(driver.order(), (ids{2, 3, 4}));
}

TEST(waiting_queue, drr_charges_nobody_for_coming_back) {
  queue_driver driver(scheduling_policy::drr);
  driver.add(100, "set back");
  sequence& first = driver.admit();
  driver.preempt(first);
  driver.add(100, "set back");
  for (int i = 0; i < 3; ++i) driver.add(100, "other");
  EXPECT_EQ(driver.admit().id, first.id);
  EXPECT_EQ(driver.order(), (ids{2, 3, 4, 5}));
}

TEST(waiting_queue, drr_keeps_the_debt_of_a_tenant_that_still_runs) {
  queue_driver driver(scheduling_policy::drr);
  driver.add(100, "owes");
  driver.add(100, "owes");
  sequence& first = driver.admit();
  driver.admit();
  driver.finish(first, 1000);
  driver.add(100, "owes");
  driver.add(100, "new");
  EXPECT_EQ(driver.order(), (ids{4, 3}));
}

TEST(waiting_queue, drr_begins_anew_only_with_who_has_missed_a_round) {
  queue_driver driver(scheduling_policy::drr);
  driver.add(100, "behind");
  driver.admit();
  driver.add(50, "in time");
  driver.admit();  // in the second round
  driver.add(100, "behind");
  driver.add(50, "in time");
  driver.add(100, "new");
  EXPECT_EQ(driver.order(), (ids{4, 3, 5})) << "the quantum of this round is not used up; no round is owed";
}

TEST(waiting_queue, drr_moves_nobody_back_who_waits_for_its_turn) {
  queue_driver driver(scheduling_policy::drr);
  const sequence& large = driver.add(1000, "large");
  for (int i = 0; i < 12; ++i) driver.add(100, "busy");
  for (int i = 0; i < 8; ++i) driver.admit();
  driver.add(10, "large");
  EXPECT_EQ(driver.order()[1], large.id) << "in the tenth round, as before";
}

TEST(waiting_queue, drr_charges_what_is_computed_alone) {
  queue_driver driver(scheduling_policy::drr);
  for (int i = 0; i < 3; ++i) driver.add(100, "cached").num_computed = 90;
  driver.add(100, "new");
  EXPECT_EQ(driver.order(), (ids{1, 2, 3, 4})) << "30 tokens in all are within a quantum";
}

TEST(waiting_queue, drr_goes_on_where_a_step_may_have_no_tokens) {
  queue_driver driver(scheduling_policy::drr);
  driver.queue = make_waiting_queue(scheduling_policy::drr, 0, patience);
  driver.add(10, "a");
  EXPECT_EQ(driver.order(), (ids{1}));
}

TEST(waiting_queue, drr_is_not_fooled_by_ever_new_names) {
  queue_driver driver(scheduling_policy::drr);
  for (int i = 0; i < 30; ++i) driver.add(100, "steady");
  int steady = 0;
  for (int i = 0; i < 600; ++i) {
    driver.add(100, "new " + std::to_string(i));
    sequence& who = driver.admit();
    steady += who.details->tenant == "steady" ? 1 : 0;
    driver.finish(who, 0);
  }
  EXPECT_EQ(steady, 30) << "newcomers wait for their turn behind those who are there";
}

TEST(waiting_queue, every_policy_keeps_all_and_names_each_once) {
  for (const scheduling_policy policy : {scheduling_policy::fcfs, scheduling_policy::priority,
                                         scheduling_policy::lpm, scheduling_policy::drr}) {
    std::mt19937_64 random(7);
    queue_driver driver(policy);
    std::size_t waiting = 0;
    for (int i = 0; i < 1000; ++i) {
      if (random() % 2 == 0 || waiting == 0) {
        driver.add(1 + static_cast<std::int32_t>(random() % 200),
                   std::string(1, static_cast<char>('a' + random() % 4)),
                   static_cast<std::int32_t>(random() % 64), static_cast<std::int32_t>(random() % 3));
        ++waiting;
      } else if (random() % 3 == 0) {  // preempted: it waits again
        sequence& who = driver.admit();
        driver.preempt(who);
      } else {
        driver.finish(driver.admit(), 5);
        --waiting;
      }
      ids named = driver.order();
      ASSERT_EQ(named.size(), waiting);
      ASSERT_EQ(driver.queue->size(), waiting);
      for (std::size_t place = 0; place < named.size(); ++place)
        ASSERT_EQ(driver.queue->ahead_of(driver.all[named[place] - 1]), place);
      std::sort(named.begin(), named.end());
      ASSERT_EQ(std::adjacent_find(named.begin(), named.end()), named.end());
    }
  }
}

}  // namespace
}  // namespace troupe
