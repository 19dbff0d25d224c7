// How much the drafter remembers, and what it gives up first.
#include <algorithm>

#include "runtime/drafting/drafter.hpp"

namespace troupe {

std::size_t drafter::room_beside(std::size_t bytes) const {
  return options_.max_bytes - std::min(options_.max_bytes, bytes);
}

void drafter::recount(open_request& request) {
  request_bytes_ -= request.bytes;
  request.bytes = request.tokens.bytes();
  request_bytes_ += request.bytes;
}

void drafter::recount(tenant& owner, std::size_t bytes_before) {
  answer_bytes_ += owner.outputs.bytes();
  answer_bytes_ -= bytes_before;
}

// Answers first. Then the requests that have not run yet, whose turn is farthest off: the last that came.
// Then those that run, the one unused for longest first.
void drafter::make_room() {
  if (bytes() <= options_.max_bytes) return;
  forget_tenants();
  while (bytes() > options_.max_bytes && !requests_.empty()) {
    const auto goes_first = [](const auto& a, const auto& b) {
      if (a.second.has_run != b.second.has_run) return b.second.has_run;
      return a.second.has_run ? a.second.last_use < b.second.last_use : a.second.last_use > b.second.last_use;
    };
    remove(std::ranges::min_element(requests_, goes_first));
    ++num_forgotten_requests_;
    forget_tenants();
  }
}

void drafter::remove(std::unordered_map<request_id, open_request>::iterator request) {
  tenant& owner = *request->second.owner;
  request_bytes_ -= request->second.bytes;
  requests_.erase(request);
  --owner.num_open;
  owner.last_use = ++uses_;
}

// Those without a request and without answers; then the one unused for longest while there are too many or
// they hold too much. One that has requests stays and loses its answers.
void drafter::forget_tenants() {
  std::erase_if(tenants_, [](const auto& each) {
    return each.second->num_open == 0 && each.second->outputs.num_requests() == 0;
  });
  std::size_t idle = 0;
  std::size_t bytes = 0;
  for (const auto& [key, each] : tenants_) {
    idle += each->num_open == 0 ? 1 : 0;
    bytes += each->outputs.bytes();
  }
  const std::size_t most_bytes = std::min(options_.max_cached_bytes, room_beside(request_bytes_));
  while (idle > options_.max_tenants || bytes > most_bytes) {
    const bool only_idle = bytes <= most_bytes;
    auto oldest = tenants_.end();
    for (auto at = tenants_.begin(); at != tenants_.end(); ++at) {
      if (only_idle ? at->second->num_open > 0 : at->second->outputs.num_requests() == 0) continue;
      if (oldest == tenants_.end() || at->second->last_use < oldest->second->last_use) oldest = at;
    }
    if (oldest == tenants_.end()) break;
    tenant& given_up = *oldest->second;
    std::erase(to_take_in_, &given_up);
    bytes -= given_up.outputs.bytes();
    if (given_up.num_open == 0) {
      --idle;
      tenants_.erase(oldest);
    } else {
      given_up.outputs = tenant_outputs(limits_);
      bytes += given_up.outputs.bytes();
    }
  }
  answer_bytes_ = bytes;
}

std::size_t drafter::num_cached_requests() const {
  std::size_t sum = 0;
  for (const auto& [key, each] : tenants_) sum += each->outputs.num_requests();
  return sum;
}

}  // namespace troupe
