// Requests that wait for their grammars: equal grammars are compiled once, one after the other, and none that
// nobody waits for any more.
#pragma once
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  // What came of the last next(); who waited for it. An outcome with error_code::internal is not remembered.
  std::vector<request_id> done(const compiled& outcome, steady_time now);

  std::size_t num_waiting() const { return waiting_.size(); }
  grammar_cache& cache() { return cache_; }

 private:
  struct job {
    grammar_spec_ptr spec;
    std::string key;
    std::vector<request_id> who;  // never empty while it waits
  };
  using job_ptr = std::shared_ptr<job>;

  grammar_cache cache_;
  grammar_cache::vocabulary words_;
  std::deque<job_ptr> jobs_;  // oldest first
  job_ptr current_;
  std::unordered_map<std::string_view, job_ptr> by_key_;  // into job::key; the current one included
  std::unordered_map<request_id, job_ptr> waiting_;
};

}  // namespace troupe::grammar
