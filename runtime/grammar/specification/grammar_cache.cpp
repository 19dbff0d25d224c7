#include "runtime/grammar/specification/grammar_cache.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

namespace troupe::grammar {

namespace {

constexpr std::size_t bytes_per_entry = 256;

}  // namespace

grammar_cache::lookup grammar_cache::find(const spec_key& spec, const vocabulary& words, steady_time now) {
  const entry_key key{spec, words};
  const std::lock_guard held(mutex_);
  ++counts_.queries;
  return find_locked(key, now);
}

grammar_cache::lookup grammar_cache::wait(const spec_key& spec, const vocabulary& words, steady_time now) {
  const entry_key key{spec, words};
  std::unique_lock held(mutex_);
  ++counts_.queries;
  while (true) {
    lookup found = find_locked(key, now);
    if (found.known || found.is_first) return found;
    changed_.wait(held);
  }
}

grammar_cache::lookup grammar_cache::find_locked(const entry_key& key, steady_time now) {
  auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    const entry& known = *found->second;
    const bool is_stale = known.outcome && !*known.outcome && known.forget_at <= now;
    if (!is_stale) {
      entries_.splice(entries_.begin(), entries_, found->second);
      if (!known.outcome) return {};
      ++counts_.hits;
      return {known.outcome, false};
    }
    forget(found->second);
  }
  entries_.push_front({key, std::nullopt, {}, entry_bytes(key.spec.spec())});
  awaited_ += entries_.front().bytes;
  by_key_.emplace(key, entries_.begin());
  return {std::nullopt, true};
}

void grammar_cache::put(const spec_key& spec, const vocabulary& words, const compiled& outcome,
                        steady_time now) {
  const entry_key key{spec, words};
  const std::lock_guard held(mutex_);
  outcome ? ++counts_.compiled : ++counts_.refused;
  changed_.notify_all();
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  entry& which = *found->second;
  sum_with(which) -= which.bytes;
  bytes_ += which.bytes;
  if (outcome) {
    which.outcome = outcome;
    (*outcome)->count_in(grammars_);
  } else {
    remember_refusal(which, outcome.error(), now);
  }
  make_room(limits_.max_bytes);
}

void grammar_cache::remember_refusal(entry& which, const error& why, steady_time now) {
  which.outcome = tl::unexpected(why);
  which.forget_at = now + limits_.refused_for;
  which.bytes += why.message.size();
  bytes_ += why.message.size();
}

void grammar_cache::refuse(const compiled_grammar& which, const error& why, steady_time now) {
  const std::lock_guard held(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const entry& each) {
    return each.outcome && *each.outcome && each.outcome->value().get() == &which;
  });
  if (found == entries_.end()) return;
  ++counts_.refused;
  remember_refusal(*found, why, now);
}

void grammar_cache::abandon(const spec_key& spec, const vocabulary& words) {
  const entry_key key{spec, words};
  const std::lock_guard held(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->outcome) return;
  forget(found->second);
  changed_.notify_all();
}

void grammar_cache::forget(entries::iterator which) {
  sum_with(*which) -= which->bytes;
  by_key_.erase(which->key);
  entries_.erase(which);
}

// What is being compiled is waited for: it stays.
void grammar_cache::make_room(std::size_t most) {
  auto each = entries_.end();
  while (all_bytes() > most && each != entries_.begin()) {
    --each;
    const bool is_used = each->outcome && *each->outcome && each->outcome->value().use_count() > 1;
    if (!each->outcome || is_used) continue;
    const auto next = std::next(each);
    forget(each);
    ++counts_.evicted;
    each = next;
  }
}

// The grammars' own locks may be held for as long as a mask takes: not to be waited for under ours.
bool grammar_cache::trim() {
  std::vector<compiled_grammar_ptr> used;
  {
    const std::lock_guard held(mutex_);
    if (all_bytes() <= limits_.max_bytes) return true;
    make_room(limits_.max_bytes);
    for (const entry& each : entries_)
      if (each.outcome && *each.outcome) used.push_back(**each.outcome);
  }
  std::ranges::sort(used, std::ranges::greater{}, &compiled_grammar::memory_bytes);
  const std::size_t aim = limits_.max_bytes - limits_.max_bytes / 4;
  const auto is_over = [&](std::size_t most) {
    const std::lock_guard held(mutex_);
    return all_bytes() > most;
  };
  for (std::size_t i = 0; i < used.size() && is_over(i == 0 ? limits_.max_bytes : aim); ++i)
    used[i]->let_go();
  return !is_over(limits_.max_bytes);
}

std::size_t grammar_cache::entry_bytes(const grammar_spec& spec) {
  return held_bytes(spec) + bytes_per_entry;
}

std::size_t grammar_cache::awaited_bytes() const {
  const std::lock_guard held(mutex_);
  return awaited_;
}

grammar_cache::counts grammar_cache::count() const {
  const std::lock_guard held(mutex_);
  counts now = counts_;
  now.grammars = entries_.size();
  now.bytes = all_bytes() + awaited_;
  return now;
}

}  // namespace troupe::grammar
