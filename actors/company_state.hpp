// What a company is made of; for company.cpp and the files beside it that start and end one.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/clients/actor_port.hpp"
#include "actors/clients/lasting_port.hpp"
#include "actors/company.hpp"
#include "actors/interfaces.hpp"
#include "actors/net/sockets/kept_listener.hpp"

namespace troupe {

struct company::state {
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> own_system;  // none where the actors live in the embedding program's
  caf::actor_system* system = nullptr;
  std::shared_ptr<company_board> board;
  supervisor_actor supervisor;
  std::shared_ptr<company_directory> directory = std::make_shared<company_directory>();
  const std::shared_ptr<open_clients> clients = std::make_shared<open_clients>();
  port_parts ports;
  std::shared_ptr<metrics::engine_metrics>
      metrics;  // the ports', for those who are there after stop() as well
  std::shared_ptr<lasting_port> port;
  std::vector<std::shared_ptr<net::kept_listener>> listeners;  // of the gateways
  std::shared_ptr<net::trace_exporter> traces;                 // none where they go nowhere
  std::optional<device_process> process;                       // of the runner; nothing: this one
  std::uint64_t requests_cut = 0;
  bool stopped = false;
  std::mutex stopping;  // the supervisor's handle may be asked for by a thread that is to interrupt

  void open_system(const company_options& options);
  result<void> hire(const company_options& options, loaded_engine engine);
  // Spawns a gateway with a server of its own and waits until that listens.
  template <class Behavior, class Options>
  result<std::uint16_t> serve(Behavior behavior, Options options, const char* name);
  // Sends a request and waits for its answer; nothing where the receiver is gone. Sends it again where there
  // is none for long, since a message may be lost: only what may be asked twice.
  template <class Answer, class Handle, class... Message>
  std::optional<Answer> ask(const Handle& actor, Message... message) const {
    return ask_until<Answer>(steady_time::max(), actor, message...);
  }
  // The same, and nothing where there is no answer by then.
  template <class Answer, class Handle, class... Message>
  std::optional<Answer> ask_until(steady_time end, const Handle& actor, Message... message) const;
  // Ends the supervisor, and everybody else with it; where it does not react, each of them.
  void end_everybody(caf::scoped_actor& self) const;
  // Until each of them has ended; `abandon` as for company::stop().
  void wait_for_everybody(caf::scoped_actor& self, std::function<void()> abandon) const;
  // Once the supervisor is gone nobody else ends a device that hangs.
  void end_runner() const;
};

template <class Answer, class Handle, class... Message>
std::optional<Answer> company::state::ask_until(steady_time end, const Handle& actor,
                                                Message... message) const {
  constexpr std::chrono::seconds answer_time{5};  // then it is asked for again
  caf::scoped_actor self{*system};
  std::optional<Answer> answer;
  for (bool is_late = true; is_late;) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return std::nullopt;
    is_late = false;
    self->request(actor, std::min<steady_time::duration>(answer_time, left), message...)
        .receive([&](const Answer& given) { answer = given; },
                 [&](const caf::error& why) { is_late = why == caf::sec::request_timeout; });
  }
  return answer;
}

}  // namespace troupe
