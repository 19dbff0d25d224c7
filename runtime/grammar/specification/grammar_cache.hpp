// The compiled grammars of all requests, by what was asked for, so that a schema is compiled once however
// many requests come with it, also at the same moment.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/hash.hpp"
#include "runtime/grammar/specification/spec_key.hpp"
#include "runtime/request.hpp"

namespace troupe::grammar {

struct grammar_cache_limits {
  std::size_t max_bytes = 256U << 20U;
  std::chrono::nanoseconds refused_for = std::chrono::seconds(60);  // how long a refusal is remembered
};

// Any thread may call anything. What somebody uses is not let go of.
class grammar_cache {
 public:
  using compiled = result<compiled_grammar_ptr>;
  // The same specification means another grammar with another vocabulary: told apart by address.
  using vocabulary = std::shared_ptr<const void>;

  explicit grammar_cache(grammar_cache_limits limits = {}) : limits_(limits) {}

  // What is known. Otherwise nothing, and `is_first` says who compiles: the caller that gets true owes put()
  // or abandon(), all others wait for it.
  struct lookup {
    std::optional<compiled> known;
    bool is_first = false;
  };
  lookup find(const spec_key& spec, const vocabulary& words, steady_time now);
  void put(const spec_key& spec, const vocabulary& words, const compiled& outcome, steady_time now);
  void abandon(const spec_key& spec, const vocabulary& words);
  // A grammar that was too large in use is refused from now on, for as long as one that does not compile.
  // Ignored where it is here no more.
  void refuse(const compiled_grammar& which, const error& why, steady_time now);

  // find(), or compile() on this thread, or the wait for the thread that compiles an equal one.
  template <class Compile>
  compiled get(const spec_key& spec, const vocabulary& words, steady_time now, Compile compile) {
    lookup found = wait(spec, words, now);
    if (found.known) return std::move(*found.known);
    struct debt {
      grammar_cache& cache;
      const spec_key& spec;
      const vocabulary& words;
      ~debt() { cache.abandon(spec, words); }
    } owed{*this, spec, words};  // where compile() throws
    compiled outcome = compile(spec.spec());
    put(spec, words, outcome, now);
    return outcome;
  }

  // Grammars grow while they are used. Past the bound the least recently asked for go that nobody uses, and
  // what the others have worked out, the largest first, until three quarters of the bound are left. Gives
  // whether all is within the bound: not where what is in use needs more by itself. Of the texts that wait to
  // be compiled nothing can go: they are not counted here. To be called after every step, by a thread that
  // may wait for a mask.
  bool trim();

  // Of the specifications that wait to be compiled, and what one of them counts for.
  std::size_t awaited_bytes() const;
  static std::size_t entry_bytes(const grammar_spec& spec);
  std::size_t max_bytes() const { return limits_.max_bytes; }

  struct counts {
    std::uint64_t queries = 0, hits = 0, compiled = 0, refused = 0, evicted = 0;
    std::size_t grammars = 0, bytes = 0;  // refusals, and what waits to be compiled, included
  };
  counts count() const;

 private:
  struct entry_key {
    spec_key spec;
    vocabulary words;
    friend bool operator==(const entry_key&, const entry_key&) = default;
  };
  struct entry_hash {
    std::size_t operator()(const entry_key& key) const {
      return mix(key.spec.hash(), reinterpret_cast<std::uintptr_t>(key.words.get()));
    }
  };
  struct entry {
    entry_key key;
    std::optional<compiled> outcome;  // nothing while it is compiled
    steady_time forget_at{};          // of a refusal
    std::size_t bytes = 0;
  };
  using entries = std::list<entry>;  // the most recently asked for first

  lookup wait(const spec_key& spec, const vocabulary& words, steady_time now);
  lookup find_locked(const entry_key& key, steady_time now);
  void forget(entries::iterator which);
  void remember_refusal(entry& which, const error& why, steady_time now);
  // Entries that nobody uses, down to this many bytes.
  void make_room(std::size_t most);
  std::size_t all_bytes() const { return bytes_ + grammars_->bytes(); }
  std::size_t& sum_with(const entry& which) { return which.outcome ? bytes_ : awaited_; }

  grammar_cache_limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  entries entries_;
  std::unordered_map<entry_key, entries::iterator, entry_hash> by_key_;
  std::size_t bytes_ = 0;    // of entries with an outcome, without their grammars
  std::size_t awaited_ = 0;  // of those without one
  const std::shared_ptr<memory_account> grammars_ = std::make_shared<memory_account>();
  counts counts_;
};

}  // namespace troupe::grammar
