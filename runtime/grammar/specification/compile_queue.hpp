// Requests that wait for their grammars: equal grammars are compiled once, and none that nobody waits for any
// more. On two lanes, each one after the other, tenant by tenant (round robin), so that between two grammars
// of a tenant's there is one of each other tenant that waits: a grammar is tried on the quick one, with a
// small share of the steps that it may take; what needs more goes on to the patient one. So whoever compiles
// with next to no processor time, as beside a busy compute team, is not held up by the few that need all
// their steps.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/specification/grammar_cache.hpp"

namespace troupe::grammar {

enum class compile_lane : std::uint8_t { quick, patient };

// Reading is not counted in steps, but bounded by the text: longer ones are the patient lane's at once. The
// longest of 200 real schemas (MaskBench) has 34 KiB.
inline constexpr std::size_t max_quick_bytes = 64U << 10U;
// What texts that wait may take beside a cache that is smaller.
inline constexpr std::size_t max_awaited_bytes = 16U << 20U;
// The limits of the quick lane: 1/128 of the steps. Each of those schemas takes less than 1/1024.
grammar_limits quick_limits(grammar_limits limits);

// One caller at a time. Whoever compiles for a lane takes next() and brings done().
class compile_queue {
 public:
  using compiled = grammar_cache::compiled;

  compile_queue(grammar_cache_limits limits, grammar_cache::vocabulary words)
      : cache_(limits), words_(std::move(words)) {}

  // What is known; otherwise nothing, and the request, one of `tenant`, is among those of a later done().
  // Their texts may take as much memory as the cache, or max_awaited_bytes where that is more; past that a
  // tenant that has more than its share of it waiting is refused another. Errors: those of the grammar,
  // resource_exhausted.
  std::optional<compiled> ask(request_id id, const grammar_spec_ptr& spec, steady_time now,
                              const std::string& tenant);
  // It waits no more. Unknown ids are ignored.
  void forget(request_id id);
  // What to compile now, on the quick lane with quick_limits(); null while the lane compiles something, and
  // where nobody waits.
  grammar_spec_ptr next(compile_lane lane);
  // What came of the lane's last next(); who waited for it: nobody where it goes on to the patient lane. An
  // outcome with error_code::internal is not remembered.
  std::vector<request_id> done(compile_lane lane, const compiled& outcome, steady_time now);

  std::size_t num_waiting() const { return waiting_.size(); }
  grammar_cache& cache() { return cache_; }

 private:
  struct waiter {
    request_id id = 0;
    std::string tenant = {};
  };
  struct job {
    spec_key spec;
    compile_lane lane = compile_lane::quick;
    std::vector<waiter> who = {};  // never empty while it waits

    bool is_wanted_by(const std::string& tenant) const;
  };
  using job_ptr = std::shared_ptr<job>;
  struct tenant_jobs {
    std::string tenant;
    std::deque<job_ptr> waiting;  // never empty; the first come first
  };
  struct lane_jobs {
    std::deque<tenant_jobs> tenants;  // the first is next; a job may be with several of them
    std::string last;                 // whose turn it was: behind all others now, if it is the first
    job_ptr current;
  };

  lane_jobs& at(compile_lane lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  void enter(compile_lane lane, const job_ptr& entry);
  static void add(lane_jobs& lane, const job_ptr& entry, const std::string& tenant);
  static void remove(lane_jobs& lane, const job_ptr& entry, const std::string& tenant);
  std::size_t room_for_waiting() const { return std::max(cache_.max_bytes(), max_awaited_bytes); }
  bool has_more_than_its_share(const std::string& tenant) const;

  grammar_cache cache_;
  grammar_cache::vocabulary words_;
  std::array<lane_jobs, 2> lanes_;                               // [compile_lane]
  std::unordered_map<spec_key, job_ptr, spec_key_hash> by_key_;  // of both lanes
  std::unordered_map<request_id, job_ptr> waiting_;
};

}  // namespace troupe::grammar
