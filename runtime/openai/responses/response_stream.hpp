// The events of a streamed response, each an object of its own type with a number in their order.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/openai/answer_stream.hpp"
#include "runtime/openai/responses/response_body.hpp"
#include "runtime/openai/responses/response_items.hpp"

namespace troupe::openai {

class response_stream final : public answer_stream {
 public:
  // `name` must outlive the stream.
  response_stream(answer_identity identity, const answer_options& options, const token_namer& name);

  void append(std::size_t index, const stream_event& event, std::string& out) override;
  bool ended() const override { return state_.end.has_value(); }

 private:
  // One event of that type; `write` adds its members to the object.
  template <class Write>
  void append_event(std::string& out, std::string_view type, const Write& write);
  void append_response(std::string& out, std::string_view type);
  void append_item(std::string& out, std::string_view type, std::size_t index, bool is_begun_only);
  void append_part(std::string& out, std::string_view type, std::size_t index, bool is_begun_only);
  void append_change(std::string& out, const item_change& change);
  void append_begin(std::string& out, std::size_t index);
  void append_delta(std::string& out, const item_change& change);
  void append_end(std::string& out, std::size_t index);
  void write_place(json_writer& event, std::size_t index) const;

  answer_identity identity_;
  response_items items_;
  token_style style_;
  response_state state_;
  std::int64_t sequence_ = 0;
  bool is_begun_ = false;
};

}  // namespace troupe::openai
