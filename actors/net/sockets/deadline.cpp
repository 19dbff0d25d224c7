#include "actors/net/sockets/deadline.hpp"

#include <utility>

namespace troupe::net {

using clock = std::chrono::steady_clock;

struct deadline::state {
  state(asio::io_context& context, std::function<void()> callback)
      : timer(context), on_expiry(std::move(callback)) {}
  asio::steady_timer timer;
  std::function<void()> on_expiry;  // empty: the owner is gone
  clock::time_point due = clock::time_point::max();
  clock::time_point wakes_at = clock::time_point::max();  // of the wait under way; max: none
  bool expired = false;
};

deadline::deadline(asio::io_context& context, std::function<void()> on_expiry)
    : state_(std::make_shared<state>(context, std::move(on_expiry))) {}

deadline::~deadline() {
  state_->on_expiry = nullptr;
  state_->timer.cancel();
}

void deadline::arm(std::chrono::milliseconds after) {
  state_->due = clock::now() + after;
  state_->expired = false;
  // A wait that ends earlier sees the later deadline then, so most calls touch no timer.
  if (state_->due < state_->wakes_at) schedule(state_);
}

void deadline::disarm() { state_->due = clock::time_point::max(); }

bool deadline::expired() const { return state_->expired; }

void deadline::schedule(const std::shared_ptr<state>& state) {
  state->wakes_at = state->due;
  state->timer.expires_at(state->due);
  state->timer.async_wait([state, expected = state->due](asio_error error) {
    if (error || state->wakes_at != expected || !state->on_expiry) return;
    state->wakes_at = clock::time_point::max();
    if (state->due == clock::time_point::max()) return;
    if (clock::now() < state->due) return schedule(state);
    state->due = clock::time_point::max();
    state->expired = true;
    state->on_expiry();
  });
}

}  // namespace troupe::net
