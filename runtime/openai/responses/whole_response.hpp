// A response that is not streamed.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "runtime/openai/answer_collector.hpp"
#include "runtime/openai/responses/response_body.hpp"
#include "runtime/openai/responses/response_items.hpp"

namespace troupe::openai {

class whole_response final : public answer_collector {
 public:
  // `name` must outlive it.
  whole_response(answer_identity identity, const answer_options& options, const token_namer& name)
      : identity_(std::move(identity)), items_(options, name), style_{name} {}

  void add(std::size_t index, stream_event event) override;
  bool complete() const override { return state_.end.has_value(); }
  const error* failure() const override { return failure_ ? &*failure_ : nullptr; }
  std::string body() const override;

 private:
  answer_identity identity_;
  response_items items_;
  token_style style_;
  response_state state_;
  std::optional<error> failure_;
};

}  // namespace troupe::openai
