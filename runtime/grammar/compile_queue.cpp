#include "runtime/grammar/compile_queue.hpp"

#include <utility>

namespace troupe::grammar {

std::optional<compile_queue::compiled> compile_queue::ask(request_id id, const grammar_spec_ptr& spec,
                                                          steady_time now) {
  grammar_cache::lookup found = cache_.find(*spec, words_, now);
  if (found.known) return std::move(found.known);
  std::string key = key_of(*spec);
  job_ptr entry;
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    entry = known->second;
  } else {
    entry = std::make_shared<job>(job{spec, std::move(key), {}});
    by_key_.emplace(entry->key, entry);
    jobs_.push_back(entry);
  }
  entry->who.push_back(id);
  waiting_.insert_or_assign(id, std::move(entry));
  return std::nullopt;
}

void compile_queue::forget(request_id id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const job_ptr entry = std::move(found->second);
  waiting_.erase(found);
  std::erase(entry->who, id);
  if (!entry->who.empty() || entry == current_) return;
  std::erase(jobs_, entry);
  by_key_.erase(entry->key);
  cache_.abandon(*entry->spec, words_);
}

grammar_spec_ptr compile_queue::next() {
  if (current_ || jobs_.empty()) return nullptr;
  current_ = std::move(jobs_.front());
  jobs_.pop_front();
  return current_->spec;
}

std::vector<request_id> compile_queue::done(const compiled& outcome, steady_time now) {
  if (!current_) return {};
  const job_ptr ended = std::exchange(current_, nullptr);
  by_key_.erase(ended->key);
  // A fault of ours says nothing about the grammar: the next request has it compiled anew.
  if (!outcome && outcome.error().code == error_code::internal)
    cache_.abandon(*ended->spec, words_);
  else
    cache_.put(*ended->spec, words_, outcome, now);
  for (const request_id id : ended->who) waiting_.erase(id);
  return std::move(ended->who);
}

}  // namespace troupe::grammar
