// What of a company's options may change while it works.
#pragma once
#include <chrono>
#include <memory>

#include "actors/net/options.hpp"
#include "runtime/result.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace troupe {

struct company_limits {
  scheduler_limits scheduling;  // what scheduler::change_limits() takes of it
  std::chrono::nanoseconds request_timeout{0};
  std::chrono::nanoseconds queue_timeout{0};
  std::chrono::nanoseconds step_deadline = std::chrono::seconds{120};
  net::connection_limits connections;  // of each gateway
};
using company_limits_ptr = std::shared_ptr<const company_limits>;

// Whether a step holds every prompt where one may not be cut into several. Errors: invalid_argument.
result<void> check_prompt_fits_step(const scheduler_limits& limits);

// Whether any company can go by these. Errors: invalid_argument, naming the limit and its range.
result<void> check_limits(const company_limits& wanted);
result<void> check_limits(const net::connection_limits& wanted);

// Whether a company that was started with these limits can go on with those.
// Errors: invalid_argument, naming the limit.
result<void> check_limits(const scheduler_limits& at_start, const scheduler_limits& wanted);

}  // namespace troupe
