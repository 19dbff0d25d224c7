#include "runtime/output/text_stream.hpp"

#include <utility>

namespace troupe {

text_stream::text_stream(tokenizer_ptr tokenizer, const sampling_params& sampling, bool at_start)
    : detokenizer_(std::move(tokenizer), sampling.skip_special_tokens, at_start),
      stops_(sampling.stop),
      min_tokens_(sampling.min_tokens),
      include_stop_(sampling.include_stop_str_in_output) {}

bool text_stream::push(token_id id, std::string& out) {
  ++tokens_;
  const auto text = detokenizer_.push(id);
  const auto read_before = held_.size();
  held_ += text;
  if (const auto match = stops_.push(text, tokens_ > min_tokens_)) {
    stopped_by_ = std::string(match->string);
    // The held text reaches back to the stop string's first byte, or past it where the stop string is shown.
    const auto end = read_before + match->end;
    out += held_.substr(0, include_stop_ ? end : end - match->string.size());
    held_.clear();
    return true;
  }
  release(out);
  return false;
}

void text_stream::release(std::string& out) {
  const auto kept = include_stop_ ? 0 : stops_.held_back();
  out.append(held_, 0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
}

std::string text_stream::finish() {
  if (stopped_by_) return {};
  return std::exchange(held_, {}) + detokenizer_.finish();
}

}  // namespace troupe
