// A gateway's way to the company: each call becomes a message.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/clients/open_clients.hpp"
#include "actors/company_board.hpp"
#include "actors/company_directory.hpp"
#include "actors/interfaces.hpp"
#include "actors/net/engine_port.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/generation_request.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// Numbers requests so that long prompts fall to the last shard of the pool, which has a thread of its own:
// encoding them must not delay the streams of the others, nor occupy the threads that all actors share.
class request_numbers {
 public:
  // `shards`: size of the pool, at least 2.
  explicit request_numbers(std::uint64_t shards) : shards_(shards) {}
  // The numbers of the request's answers, all of one shard.
  std::vector<request_id> next(const generation_request& request);

 private:
  const std::uint64_t shards_;
  std::atomic<std::uint64_t> short_{1};
  std::atomic<std::uint64_t> long_{1};
};

// What the ports of one company share.
struct port_parts {
  caf::actor_system* system = nullptr;  // where the company lives
  std::shared_ptr<company_directory> directory;
  std::shared_ptr<company_board> board;
  std::shared_ptr<metrics::engine_metrics> metrics;
  tokenizer_ptr vocabulary;
  net::model_card card;
  std::shared_ptr<request_numbers> numbers;
  std::shared_ptr<open_clients> clients = std::make_shared<open_clients>();
};

class actor_port final : public net::engine_port {
 public:
  // `gateway`: that whose port it is; null: the embedding program's own.
  actor_port(gateway_actor gateway, port_parts parts);

  std::vector<request_id> generate_choices(generation_request_ptr request, net::choice_sink sink) override;
  void abort(request_id id) override;
  void tokenize(net::tokenize_request request,
                std::function<void(result<net::tokenize_reply>)> reply) override;
  void detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) override;
  void describe(request_id id, std::function<void(std::optional<request_state>)> reply) override;
  void reset_prefix_cache(std::function<void(bool)> reply) override;
  net::engine_status status() const override;
  net::model_card model() const override { return parts_.card; }
  std::string metrics_text() const override;
  std::string token_text(token_id id) const override;

  // Its gateway ends: every stream of this port ends with `failure`, and so does any that comes later. Any
  // thread.
  void end_streams(const error& failure);

 private:
  gateway_actor gateway() const { return gateway_ ? gateway_ : parts_.directory->current()->gateway; }

  gateway_actor gateway_;
  port_parts parts_;
  std::atomic<bool> has_ended_ = false;
};

}  // namespace troupe
