// Requests that wait for their grammars: equal grammars are compiled once, one after the other, and none that
// nobody waits for any more.
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/grammar_cache.hpp"

namespace troupe::grammar {

// One caller at a time. Whoever compiles takes next() and brings done().
class compile_queue {
 public:
  using compiled = grammar_cache::compiled;

  compile_queue(grammar_cache_limits limits, grammar_cache::vocabulary words)
      : cache_(limits), words_(std::move(words)) {}

  // What is known; otherwise nothing, and the request is among those of a later done().
  std::optional<compiled> ask(request_id id, const grammar_spec_ptr& spec, steady_time now);
  // It waits no more. Unknown ids are ignored.
  void forget(request_id id);
  // What to compile now; null while something is being compiled, and where nobody waits.
  grammar_spec_ptr next();
  // What came of the last next(); who waited for it.
  std::vector<request_id> done(const compiled& outcome, steady_time now);

  std::size_t num_waiting() const { return waiting_.size(); }
  grammar_cache& cache() { return cache_; }

 private:
  struct job {
    grammar_spec_ptr spec;
    std::vector<request_id> who;
  };
  using job_ptr = std::shared_ptr<job>;

  grammar_cache cache_;
  grammar_cache::vocabulary words_;
  std::deque<job_ptr> jobs_;  // oldest first
  job_ptr current_;
  std::unordered_map<std::string, job_ptr> by_key_;  // the current one included
  std::unordered_map<request_id, job_ptr> waiting_;
};

}  // namespace troupe::grammar
