// A port that is there as long as anybody holds it, whoever answers its calls.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/net/engine_port.hpp"

namespace troupe {

class lasting_port final : public net::engine_port {
 public:
  explicit lasting_port(std::shared_ptr<net::engine_port> first) : now_(std::move(first)) {}

  // Calls go to `next` from now on. Returns when no call is under way at the one before, which has no
  // other owner and is gone then.
  void lead_to(std::shared_ptr<net::engine_port> next);

  std::vector<request_id> generate_choices(generation_request_ptr request, net::choice_sink sink) override {
    return now()->generate_choices(std::move(request), std::move(sink));
  }
  void abort(request_id id) override { now()->abort(id); }
  void tokenize(net::tokenize_request request,
                std::function<void(result<net::tokenize_reply>)> reply) override {
    now()->tokenize(std::move(request), std::move(reply));
  }
  void detokenize(std::vector<token_id> tokens, std::function<void(result<std::string>)> reply) override {
    now()->detokenize(std::move(tokens), std::move(reply));
  }
  void describe(request_id id, std::function<void(std::optional<request_state>)> reply) override {
    now()->describe(id, std::move(reply));
  }
  void reset_prefix_cache(std::function<void(bool)> reply) override {
    now()->reset_prefix_cache(std::move(reply));
  }
  net::engine_status status() const override { return now()->status(); }
  net::model_card model() const override { return now()->model(); }
  std::string metrics_text() const override { return now()->metrics_text(); }
  std::string token_text(token_id id) const override { return now()->token_text(id); }

 private:
  std::shared_ptr<net::engine_port> now() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<net::engine_port> now_;
};

}  // namespace troupe
