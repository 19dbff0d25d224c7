// How a company ends: what is open first, then its actors, then what holds them.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>

#include "actors/company_state.hpp"
#include "actors/lost_part.hpp"
#include "actors/net/closed_port.hpp"
#include "actors/net/sockets/abandonable_work.hpp"

namespace troupe {
namespace {

// Calls `what` with each of them, but for the supervisor.
template <class Function>
void for_everybody(const company_roster& roster, Function what) {
  const auto call = [&what](const auto& actor) {
    if (actor) what(actor);
  };
  call(roster.kv_cache);
  call(roster.model_runner);
  call(roster.compilers.quick);
  call(roster.compilers.patient);
  call(roster.structured_output);
  call(roster.drafter);
  call(roster.scheduler);
  for (const tokenizer_actor& tokenizer : roster.tokenizers) call(tokenizer);
  call(roster.text_worker);
  call(roster.gateway);
  for (const gateway_actor& gateway : roster.socket_gateways) call(gateway);
}

}  // namespace

void company::state::end_everybody(caf::scoped_actor& self) const {
  constexpr std::chrono::seconds to_react{1};
  self->monitor(supervisor);
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  self->receive([](const caf::down_msg&) {},
                caf::after(to_react) >>
                    [this] {
                      spdlog::error("the supervisor does not end");
                      for_everybody(*directory->current(), [](const auto& actor) {
                        caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
                      });
                    });
}

void company::state::end_runner() const {
  constexpr std::chrono::milliseconds for_last_step{300};
  if (!process) return;
  if (const model_runner_actor runner = directory->current()->model_runner) {
    caf::scoped_actor self{*system};
    self->monitor(runner);
    self->receive(
        [](const caf::down_msg&) {},
        caf::after(for_last_step) >>
            [this] {
              if (!board->runs_step())
                return spdlog::info("the runner computes for no request: its process is ended");
              if (!board->hangs(std::chrono::steady_clock::now()))
                return spdlog::info("a step takes longer than anybody waits for it: its process is ended");
              spdlog::warn("a step does not end: its process is killed (threads: {})",
                           process->describe_threads());
            });
  }
  process->kill();
}

drain_outcome company::drain(std::chrono::nanoseconds grace) {
  constexpr std::chrono::seconds for_the_answer{1};
  constexpr std::chrono::milliseconds for_last_ends{500};  // of those that were aborted, on their way
  if (state_->stopped) return drain_outcome::complete;
  constexpr std::chrono::hours longest_grace{24 * 365};
  grace = std::clamp<std::chrono::nanoseconds>(grace, std::chrono::nanoseconds{0}, longest_grace);
  const steady_time end = std::chrono::steady_clock::now() + grace + for_the_answer;
  const auto drained =
      state_->ask_until<msg::company_drained>(end, state_->supervisor, msg::drain_company{grace});
  if (drained && drained->outcome == drain_outcome::complete) return drained->outcome;
  if (drained) state_->clients->wait_for_none(for_last_ends);
  const std::uint64_t ended = state_->clients->end_all(shutting_down());
  state_->requests_cut = std::max(ended, drained ? drained->aborted : 0);
  if (!drained) spdlog::error("the supervisor does not answer: requests are cut off: {}", ended);
  return drained ? drained->outcome : drain_outcome::requests_cut;
}

std::uint64_t company::requests_cut() const { return state_->requests_cut; }

void company::end_streams() { state_->clients->end_all(shutting_down()); }

// Whoever else is late hangs.
void company::state::wait_for_everybody(caf::scoped_actor& self, std::function<void()> abandon) const {
  constexpr std::chrono::milliseconds patience{500};  // more than a gateway gives its clients to read
  std::set<caf::actor_addr> left, must_end;
  const auto expect = [&](const auto& actor) {
    using handle = std::decay_t<decltype(actor)>;
    constexpr bool may_be_left = std::is_same_v<handle, grammar_compiler_actor> ||
                                 std::is_same_v<handle, tokenizer_actor> ||
                                 std::is_same_v<handle, gateway_actor>;
    self->monitor(actor);
    left.insert(actor->address());
    if (!may_be_left) must_end.insert(actor->address());
  };
  expect(supervisor);
  for_everybody(*directory->current(), expect);
  const auto look = [&] {
    if (!abandon || !must_end.empty() || !abandonable_work::in_progress()) return;
    if (traces) traces->close();
    std::exchange(abandon, {})();
  };
  while (!left.empty())
    self->receive(
        [&](const caf::down_msg& ended) {
          left.erase(ended.source);
          must_end.erase(ended.source);
        },
        caf::after(patience) >> look);
}

void company::stop(const std::function<void()>& abandon) {
  if (std::exchange(state_->stopped, true) || !state_->supervisor) return;
  {
    caf::scoped_actor self{*state_->system};
    state_->board->begin_stop();
    for (const auto& listener : state_->listeners) listener->close();
    state_->end_everybody(self);
    state_->end_runner();
    state_->wait_for_everybody(self, abandon);
  }
  state_->board->stopped();
  if (state_->port)  // none where the start has failed
    state_->port->lead_to(
        std::make_shared<net::closed_port>([board = state_->board] { return board->status({}); }));
  if (state_->traces) state_->traces->close();
  state_->ports = {};
  state_->directory = std::make_shared<company_directory>();
  {
    const std::lock_guard lock(state_->stopping);
    state_->supervisor = nullptr;
  }
  state_->own_system.reset();
}

}  // namespace troupe
