#include "actors/company.hpp"

#include <fmt/format.h>

#include <future>
#include <utility>

#include "actors/clients/http_gateway.hpp"
#include "actors/clients/refusal_counter.hpp"
#include "actors/clients/tcp_gateway.hpp"
#include "actors/company_state.hpp"

namespace troupe {

template <class Behavior, class Options>
result<std::uint16_t> company::state::serve(Behavior behavior, Options options, const char* name) {
  if (stopped) return fail(error_code::unavailable, "the company has stopped");
  if (traces) options.observers.push_back(traces);
  options.observers.push_back(std::make_shared<refusal_counter>(ports.metrics));
  if (!options.listen.kept) options.listen.kept = std::make_shared<net::kept_listener>();
  auto started = std::make_shared<std::promise<result<std::uint16_t>>>();
  auto listening = started->get_future();
  const gateway_actor gateway =
      system->spawn(behavior, directory->current()->tokenizers, ports, options, std::move(started));
  result<std::uint16_t> port_number = listening.get();
  if (!port_number) return port_number;
  listeners.push_back(options.listen.kept);
  // The next one listens on the same socket. Whether it can, its own end tells.
  Options same_port = options;
  same_port.listen.port = *port_number;
  const gateway_starter start = [system = system, behavior, ports = ports,
                                 same_port](const company_roster_ptr& now) -> gateway_actor {
    return system->spawn(behavior, now->tokenizers, ports, same_port,
                         std::make_shared<std::promise<result<std::uint16_t>>>());
  };
  ask<company_roster_ptr>(supervisor, msg::add_gateway{fmt::format("{} {}", name, *port_number), name},
                          gateway, start);
  return port_number;
}

company::company(std::unique_ptr<state> parts) : state_(std::move(parts)) {}

company::~company() { stop(); }

result<void> company::wait_ready(const progress_callback& progress) {
  std::size_t seen = 0;
  while (true) {
    const company_board::news news = state_->board->wait_news(seen);
    for (const warm_up_progress& item : news.progress)
      if (progress) progress(item);
    seen += news.progress.size();
    if (news.failure) return fail(error_code::unavailable, fmt::format("{} has ended", *news.failure));
    if (news.ready) return {};
    if (news.interrupted) return fail(error_code::unavailable, "interrupted");
  }
}

void company::interrupt_wait() { state_->board->interrupt(); }

void company::interrupt() {
  interrupt_wait();
  const std::lock_guard lock(state_->stopping);
  if (state_->supervisor) caf::anon_send(state_->supervisor, msg::end_grace{});
}

result<std::uint16_t> company::serve_http(net::http_options options) {
  if (const auto checked = check_limits(options.limits); !checked) return tl::unexpected(checked.error());
  if (options.probes && !options.probes->kept) options.probes->kept = std::make_shared<net::kept_listener>();
  auto port_number = state_->serve(http_gateway_behavior, options, http_gateway_state::name);
  if (port_number && options.probes) state_->listeners.push_back(options.probes->kept);
  return port_number;
}

result<std::uint16_t> company::serve_tcp(const net::tcp_options& options) {
  if (const auto checked = check_limits(options.limits); !checked) return tl::unexpected(checked.error());
  return state_->serve(tcp_gateway_behavior, options, tcp_gateway_state::name);
}

std::shared_ptr<net::engine_port> company::port() const { return state_->port; }

net::engine_status company::status() const { return state_->board->status(std::chrono::steady_clock::now()); }

std::optional<std::string> company::failure() const { return state_->board->failure(); }

void company::on_failure(std::function<void(const std::string& actor)> callback) {
  state_->board->on_failure(std::move(callback));
}

void company::reload(company_limits limits, std::function<void(result<void>)> reply) {
  const auto call = std::make_shared<reload_call>(
      std::move(reply), fail(error_code::unavailable, "there is no supervisor any more"));
  const auto wanted = std::make_shared<const company_limits>(std::move(limits));
  const std::lock_guard lock(state_->stopping);
  if (state_->supervisor)
    caf::anon_send(state_->supervisor, msg::reload{}, company_limits_ptr(wanted), reload_call_ptr(call));
}

void company::note_reload(bool taken) { state_->metrics->set_last_reload(taken); }

void company::describe(std::function<void(result<net::company_report>)> reply) const {
  const auto call = std::make_shared<company_call>(
      std::move(reply), fail(error_code::unavailable, "there is no supervisor any more"));
  const std::lock_guard lock(state_->stopping);
  if (state_->supervisor) caf::anon_send(state_->supervisor, msg::describe_company{}, call);
}

result<company::counts> company::count() const {
  if (state_->stopped) return fail(error_code::unavailable, "the company has stopped");
  counts all;
  const company_roster_ptr roster = state_->directory->current();
  const auto requests = state_->ask<msg::request_counts>(roster->scheduler, msg::count{});
  const auto blocks = state_->ask<msg::kv_cache_counts>(roster->kv_cache, msg::count{});
  if (!requests || !blocks) return fail(error_code::unavailable, "an actor has ended");
  all.running = requests->running;
  all.waiting = requests->waiting;
  all.blocks = blocks->blocks;
  all.free_blocks = blocks->free_blocks;
  all.blocks_consistent = blocks->consistent;
  for (const tokenizer_actor& tokenizer : roster->tokenizers)
    if (const auto streams = state_->ask<msg::tokenizer_counts>(tokenizer, msg::count{}))
      all.tokenizer_streams += streams->streams;
  std::vector<gateway_actor> gateways = roster->socket_gateways;
  gateways.push_back(roster->gateway);
  for (const gateway_actor& gateway : gateways)
    if (const auto streams = state_->ask<msg::gateway_counts>(gateway, msg::count{}))
      all.client_streams += streams->streams;
  return all;
}

}  // namespace troupe
