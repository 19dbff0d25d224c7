// The port of a company that has stopped: every call is answered, by a refusal.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "actors/net/engine_port.hpp"
#include "runtime/generation_request.hpp"

namespace troupe {

class closed_port final : public net::engine_port {
 public:
  std::vector<request_id> generate_choices(generation_request_ptr request, net::choice_sink sink) override;
  void abort(request_id) override {}
  void tokenize(net::tokenize_request request,
                std::function<void(result<net::tokenize_reply>)> reply) override;
  void detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) override;
  void describe(request_id, std::function<void(std::optional<request_state>)> reply) override {
    reply(std::nullopt);
  }
  void reset_prefix_cache(std::function<void(bool)> reply) override { reply(false); }
  net::engine_status status() const override { return {false, false, "the company has stopped"}; }
  net::model_card model() const override { return {}; }
  std::string metrics_text() const override { return {}; }
  std::string token_text(token_id) const override { return {}; }
};

}  // namespace troupe
