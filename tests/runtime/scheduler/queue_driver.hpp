// A waiting queue without a scheduler: what next() names first is admitted and done.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

#include "runtime/scheduler/waiting_queue.hpp"

namespace troupe {

inline constexpr std::int32_t quantum = 100;
inline constexpr std::int32_t patience = 40;

// Requests as the scheduler keeps them.
struct queue_driver {
  std::unique_ptr<waiting_queue> queue;
  std::deque<sequence> all;  // never moves

  explicit queue_driver(scheduling_policy policy) : queue(make_waiting_queue(policy, quantum, patience)) {}

  sequence& add(std::int32_t prompt, const std::string& tenant = "", std::int32_t cached = 0,
                std::int32_t priority = 0) {
    sequence& who = all.emplace_back();
    who.id = all.size();
    who.details = make_details(std::pmr::get_default_resource());
    who.details->ticket = all.size();
    who.details->first_answer = who.id;
    who.begin_with(std::vector<token_id>(static_cast<std::size_t>(prompt)));
    who.details->tenant = tenant;
    who.details->cached_prefix = cached;
    who.details->priority = priority;
    queue->add(who);
    return who;
  }
  sequence& admit() {
    sequence& who = *queue->next(1).front();
    queue->remove(who);
    who.running = true;
    queue->admitted(who, who.num_tokens());
    who.details->admitted_once = true;
    return who;
  }
  void preempt(sequence& who) {
    who.running = false;
    queue->add(who);
  }
  void finish(sequence& who, std::int32_t output) {
    for (std::int32_t i = 0; i < output; ++i) who.add_token(0);
    queue->finished(who);
    who.ended = true;
  }
  std::vector<request_id> order() {
    std::vector<request_id> ids;
    for (const sequence* who : queue->next(all.size())) ids.push_back(who->id);
    return ids;
  }
};

}  // namespace troupe
