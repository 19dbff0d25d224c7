#include "runtime/openai/responses/whole_response.hpp"

#include <utility>

namespace troupe::openai {

void whole_response::add(std::size_t, stream_event event) {
  items_.add(event);
  if (!event.warnings.empty()) state_.warnings = std::move(event.warnings);
  if (!event.end) return;
  failure_ = failure_of(*event.end);
  state_.end = std::move(event.end);
  state_.has_cut_off = items_.has_cut_off();
}

std::string whole_response::body() const {
  std::string body;
  json_writer out(body);
  write_response(out, identity_, state_, items_.all(), style_);
  return body;
}

}  // namespace troupe::openai
