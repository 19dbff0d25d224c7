// Thousands of random operations beside two judges: the naive cache, which knows the rules, and a simulated
// device, which knows what is stored where. Up to two steps are in flight.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "tests/runtime/kv_cache/naive_kv_cache_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

struct request {
  prefix_key scope = 0;
  std::vector<token_id> tokens = {};  // known
  std::int32_t computed = 0;          // planned
  std::int32_t stored = 0;            // of those, executed
  std::uint64_t first_step = 0;       // since it has blocks
  std::int32_t pending = 0;           // sampled, but not yet known
  bool running = false;
};

struct rows {
  request_id id = 0;
  std::vector<prefix_key> prefixes = {};  // of all positions up to the last row's
  std::int32_t first = 0;
  std::vector<std::int32_t> table = {};
  bool samples = false;
};
struct step {
  std::uint64_t number = 0;
  std::vector<rows> sequences = {};
  std::vector<block_copy> copies = {};
};

class simulation {
 public:
  explicit simulation(std::uint64_t seed)
      : random_(seed),
        block_size_(1 + pick(4)),
        num_blocks_(4 + pick(36)),
        cache_({num_blocks_, block_size_}),
        naive_(num_blocks_, block_size_),
        memory_(static_cast<std::size_t>(num_blocks_ * block_size_), 0) {}

  // One operation; says what went wrong.
  std::string act() {
    const std::int32_t choice = pick(99);
    std::string wrong;
    if (choice < 15)
      arrive();
    else if (choice < 55)
      wrong = in_flight_.size() < 2 ? plan() : commit();
    else if (choice < 85)
      wrong = in_flight_.empty() ? plan() : commit();
    else if (choice < 92)
      leave(false);
    else if (choice < 99)
      leave(true);
    else
      reset();
    if (!wrong.empty()) return wrong;
    return compare();
  }

  const prefix_cache_counts& counts() const { return cache_.counts(); }
  std::uint64_t num_copies() const { return num_copies_; }
  std::uint64_t num_refusals() const { return num_refusals_; }

 private:
  std::int32_t pick(std::int32_t most) {
    return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(most + 1));
  }
  // Few scopes, few tokens, often the same: prefixes meet.
  token_id draw_token() { return pick(9) == 0 ? pick(1) : 7; }

  void arrive() {
    const request_id id = next_id_++;
    request& who = requests_[id];
    const bool forks = !requests_.empty() && pick(2) == 0;
    const auto parent = std::next(requests_.begin(), pick(static_cast<std::int32_t>(requests_.size()) - 1));
    if (forks && parent->first != id) {
      who.scope = parent->second.scope;
      who.tokens = parent->second.tokens;
      cache_.fork(parent->first, id);
      naive_.sequences[id].parent = parent->first;
    } else {
      who.scope = static_cast<prefix_key>(pick(1));
      for (int i = pick(4 * block_size_) + 1; i > 0; --i) who.tokens.push_back(draw_token());
    }
    cache_.add_sequence(id, who.tokens, {who.scope == 0 ? "" : "salt"});
    prefix_key prefix = who.scope;
    for (const token_id token : who.tokens) {
      naive_.sequences[id].prefixes.push_back(prefix = extend(prefix, token));
    }
  }

  std::string plan() {
    step_demand demand{++step_, {}, {}};
    std::vector<request_id> ids;
    for (const auto& [id, who] : requests_) ids.push_back(id);
    std::shuffle(ids.begin(), ids.end(), random_);
    for (const request_id id : ids) {
      const request& who = requests_[id];
      const auto known = static_cast<std::int32_t>(who.tokens.size());
      demand.prefix_queries.push_back(id);
      if (demand.sequences.size() == 5 || who.pending > 1 || (!who.running && who.pending > 0)) continue;
      const std::int32_t length = known + who.pending;
      planned_rows_[id] = 1 + pick(std::max(length - who.computed - 1, 0));
      demand.sequences.push_back({id, who.running ? who.computed + planned_rows_[id] : length,
                                  who.running ? 0 : pick(2), who.stored});
    }
    cache_.reserve_step(demand, reservation_);
    if (std::string wrong = naive_.judge(demand, reservation_); !wrong.empty()) return wrong;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int32_t expected = naive_.cached_tokens(demand.prefix_queries[i]);
      if (reservation_.cached_lengths[i] != expected) return "another cached length";
    }
    if (pick(3) == 0) {  // the same again: nothing changes
      const auto before = granted_tables();
      cache_.reserve_step(demand, reservation_);
      if (granted_tables() != before) return "the second answer differs";
    }
    return dispatch(demand);
  }

  std::vector<std::vector<std::int32_t>> granted_tables() const {
    std::vector<std::vector<std::int32_t>> tables;
    for (const sequence_grant& grant : reservation_.sequences)
      tables.emplace_back(grant.table.begin(), grant.table.end());
    return tables;
  }

  std::string dispatch(const step_demand& demand) {
    step planned{demand.step, {}, reservation_.copies};
    num_copies_ += planned.copies.size();
    for (std::size_t i = 0; i < demand.sequences.size(); ++i) {
      const sequence_grant& grant = reservation_.sequences[i];
      if (!grant.granted) {
        ++num_refusals_;
        continue;
      }
      request& who = requests_[grant.id];
      if (!std::exchange(who.running, true)) {
        who.computed = who.stored = grant.num_cached;
        who.first_step = demand.step;
      }
      const auto length = static_cast<std::int32_t>(who.tokens.size()) + who.pending;
      const std::int32_t end = std::min(who.computed + planned_rows_[grant.id], length);
      rows& added = planned.sequences.emplace_back();
      added.id = grant.id;
      added.first = who.computed;
      added.table.assign(grant.table.begin(), grant.table.end());
      for (std::int32_t position = added.first; position < end; ++position) {
        const std::int32_t block = added.table[static_cast<std::size_t>(position / block_size_)];
        if (cache_.references(block) != 1 + being_copied(block, planned))
          return fmt::format("block {} is written and shared", block);
      }
      prefix_key prefix = who.scope;
      for (std::int32_t position = 0; position < end; ++position) {
        const auto at = static_cast<std::size_t>(position);
        added.prefixes.push_back(
            prefix = extend(prefix, at < who.tokens.size() ? who.tokens[at] : future(grant.id)));
      }
      who.computed = end;
      added.samples = end == length;
      if (added.samples) ++who.pending;
    }
    in_flight_.push_back(std::move(planned));
    return {};
  }

  // A block that is copied from is held until that step is over; its owner goes on writing behind the copied
  // part.
  std::int32_t being_copied(std::int32_t block, const step& planned) const {
    const auto in = [&](const step& each) {
      return std::count_if(each.copies.begin(), each.copies.end(),
                           [&](const block_copy& copy) { return copy.from == block; });
    };
    auto count = in(planned);
    for (const step& each : in_flight_) count += in(each);
    return static_cast<std::int32_t>(count);
  }

  // What a request samples is always the same token, so that a row can be planned before it is known.
  token_id future(request_id id) const { return static_cast<token_id>(id % 2); }

  std::string commit() {
    const step done = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (std::string wrong = execute(done); !wrong.empty()) return wrong;
    cache_.commit_step(done.number);
    naive_.commit(done.number);
    std::vector<request_id> finished;
    for (const rows& each : done.sequences) {
      const auto found = requests_.find(each.id);
      if (found == requests_.end()) continue;
      request& who = found->second;
      if (who.running && who.first_step <= done.number)
        who.stored = static_cast<std::int32_t>(each.prefixes.size());
      if (!each.samples) continue;
      --who.pending;
      const token_id token = future(each.id);
      who.tokens.push_back(token);
      cache_.append_tokens(each.id, std::span(&token, 1));
      const auto& prefixes = naive_.sequences.at(each.id).prefixes;
      naive_.append(each.id, extend(prefixes.back(), token));
      // A request that can never fit, or is long enough, ends here.
      if (static_cast<std::int32_t>(who.tokens.size()) >= num_blocks_ * block_size_ - 4 || pick(15) == 0)
        finished.push_back(each.id);
    }
    cache_.index_blocks();
    for (const request_id id : finished) end(id);
    return {};
  }

  std::string execute(const step& running) {
    const auto slot = [&](std::int32_t block, std::int32_t offset) -> prefix_key& {
      return memory_[static_cast<std::size_t>(block * block_size_ + offset)];
    };
    for (const block_copy& copy : running.copies) {
      for (std::int32_t i = 0; i < block_size_; ++i) slot(copy.to, i) = slot(copy.from, i);
    }
    for (const rows& each : running.sequences) {
      for (std::size_t i = static_cast<std::size_t>(each.first); i < each.prefixes.size(); ++i) {
        const auto position = static_cast<std::int32_t>(i);
        slot(each.table[i / static_cast<std::size_t>(block_size_)], position % block_size_) =
            each.prefixes[i];
      }
    }
    for (const rows& each : running.sequences) {
      for (std::size_t i = 0; i < each.prefixes.size(); ++i) {
        const auto position = static_cast<std::int32_t>(i);
        if (slot(each.table[i / static_cast<std::size_t>(block_size_)], position % block_size_) !=
            each.prefixes[i])
          return fmt::format("step {}: request {} reads something else at {}", running.number, each.id, i);
      }
    }
    return {};
  }

  void leave(bool for_good) {
    if (requests_.empty()) return;
    const auto found = std::next(requests_.begin(), pick(static_cast<std::int32_t>(requests_.size()) - 1));
    const request_id id = found->first;
    if (for_good) return end(id);
    if (!found->second.running) return;
    cache_.preempt(id, last_step(id));
    naive_.give_up(id, last_step(id));
    found->second.running = false;
    found->second.computed = 0;
    found->second.stored = 0;
  }

  void end(request_id id) {
    cache_.release(id, last_step(id));
    naive_.give_up(id, last_step(id));
    naive_.sequences.erase(id);
    requests_.erase(id);
  }

  std::uint64_t last_step(request_id id) const {
    std::uint64_t last = 0;
    for (const step& each : in_flight_) {
      for (const rows& sequence : each.sequences) {
        if (sequence.id == id) last = each.number;
      }
    }
    return last;
  }

  void reset() {
    cache_.reset_prefix_cache();
    naive_.reset();
  }

  std::string compare() const {
    if (std::string wrong = cache_.check(); !wrong.empty()) return wrong;
    if (cache_.free_blocks() != naive_.num_free()) return "another number of free blocks";
    if (cache_.cached_blocks() != naive_.num_cached())
      return fmt::format("{} cached blocks, not {}", cache_.cached_blocks(), naive_.num_cached());
    for (std::int32_t block = 0; block < num_blocks_; ++block) {
      if (cache_.references(block) != naive_.references(block))
        return fmt::format("holders of block {}", block);
    }
    return {};
  }

  std::mt19937_64 random_;
  std::int32_t block_size_;
  std::int32_t num_blocks_;
  kv_cache_manager cache_;
  naive_kv_cache naive_;
  std::vector<prefix_key> memory_;  // [slot] what is stored there
  std::map<request_id, request> requests_;
  std::map<request_id, std::int32_t> planned_rows_;
  std::deque<step> in_flight_;
  step_reservation reservation_;
  std::uint64_t step_ = 0;
  request_id next_id_ = 1;
  std::uint64_t num_copies_ = 0;
  std::uint64_t num_refusals_ = 0;
};

TEST(kv_cache_model, agrees_with_the_naive_cache_and_never_reads_what_is_not_its_own) {
  std::uint64_t hits = 0;
  std::uint64_t copies = 0;
  std::uint64_t refusals = 0;
  const std::uint64_t loads = test::repeated(500);
  for (std::uint64_t seed = 0; seed < loads; ++seed) {
    simulation tested(seed);
    for (int i = 0; i < 300; ++i) {
      const std::string wrong = tested.act();
      ASSERT_EQ(wrong, "") << "seed " << seed << ", operation " << i;
    }
    hits += tested.counts().hits;
    copies += tested.num_copies();
    refusals += tested.num_refusals();
  }
  EXPECT_GT(hits, 20 * loads) << "the loads must meet what they are to test";
  EXPECT_GT(copies, loads / 5);
  EXPECT_GT(refusals, 2 * loads);
}

}  // namespace
}  // namespace troupe
