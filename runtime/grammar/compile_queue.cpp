#include "runtime/grammar/compile_queue.hpp"

#include <utility>

namespace troupe::grammar {

std::optional<compile_queue::compiled> compile_queue::ask(request_id id, const grammar_spec_ptr& spec,
                                                          steady_time now) {
  grammar_cache::lookup found = cache_.find(*spec, words_, now);
  if (found.known) return std::move(found.known);
  job_ptr& entry = by_key_[key_of(*spec)];
  if (!entry) {
    entry = std::make_shared<job>(job{spec, {}});
    jobs_.push_back(entry);
  }
  entry->who.push_back(id);
  waiting_.insert_or_assign(id, entry);
  return std::nullopt;
}

void compile_queue::forget(request_id id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  std::erase(found->second->who, id);
  waiting_.erase(found);
}

grammar_spec_ptr compile_queue::next() {
  while (!current_ && !jobs_.empty()) {
    const job_ptr first = std::move(jobs_.front());
    jobs_.pop_front();
    if (!first->who.empty()) {
      current_ = first;
      return first->spec;
    }
    by_key_.erase(key_of(*first->spec));
    cache_.abandon(*first->spec, words_);
  }
  return nullptr;
}

std::vector<request_id> compile_queue::done(const compiled& outcome, steady_time now) {
  if (!current_) return {};
  const job_ptr ended = std::exchange(current_, nullptr);
  by_key_.erase(key_of(*ended->spec));
  cache_.put(*ended->spec, words_, outcome, now);
  for (const request_id id : ended->who) waiting_.erase(id);
  return std::move(ended->who);
}

}  // namespace troupe::grammar
