// The response object of /v1/responses and its parts.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/openai/answer_parts.hpp"
#include "runtime/openai/responses/response_items.hpp"

namespace troupe::openai {

// What a response says of itself beside its output.
struct response_state {
  std::optional<finished> end = {};  // none: it is in progress
  bool has_cut_off = false;          // a stop string ended it in the midst of a call
  std::vector<std::string> warnings = {};
};

// "completed", "incomplete", "failed" or "in_progress".
const char* response_status(const response_state& state);

// The whole object: "id", "object", "created_at", "status", what it repeats of its request, "output",
// "usage".
void write_response(json_writer& out, const answer_identity& identity, const response_state& state,
                    const std::vector<response_item>& items, const token_style& style);

// What items are called by: other names in each answer. `call_id`: the answer's.
std::string item_name(std::uint64_t call_id, std::size_t index, response_item::kind what);
// The item at `index` as it was begun, without what it says, or as it stands now.
void write_item(json_writer& out, const answer_identity& identity, std::size_t index,
                const response_item& item, bool is_begun_only, const token_style& style);
// What a message, reasoning or its summary has one of: {"type": "output_text", "text": ..., ...}.
void write_content_part(json_writer& out, const response_item& item, bool is_begun_only,
                        const token_style& style);

}  // namespace troupe::openai
