// The port where no company is, not yet or not any more: every call is answered, by a refusal.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/engine_port.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::net {

class closed_port final : public engine_port {
 public:
  // Both are asked on any thread; the reason of the status is what requests are refused with.
  explicit closed_port(
      std::function<engine_status()> status, model_card card = {},
      std::function<std::string()> metrics_text = [] { return std::string(); })
      : status_(std::move(status)), card_(std::move(card)), metrics_text_(std::move(metrics_text)) {}

  std::vector<request_id> generate_choices(generation_request_ptr request, choice_sink sink) override;
  void abort(request_id) override {}
  void tokenize(tokenize_request request, std::function<void(result<tokenize_reply>)> reply) override;
  void detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) override;
  void describe(request_id, std::function<void(std::optional<request_state>)> reply) override;
  void reset_prefix_cache(std::function<void(bool)> reply) override;
  engine_status status() const override { return status_(); }
  model_card model() const override { return card_; }
  std::string metrics_text() const override { return metrics_text_(); }
  std::string token_text(token_id) const override { return {}; }

 private:
  error refusal() const { return {error_code::unavailable, status_().reason}; }

  std::function<engine_status()> status_;
  model_card card_;
  std::function<std::string()> metrics_text_;
};

}  // namespace troupe::net
