// The text of one request as it grows: detokenized, held back where a stop string may begin, cut where one
// stands.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/output/stop_strings.hpp"
#include "runtime/request.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

class text_stream {
 public:
  // at_start: no text stands before this stream.
  text_stream(tokenizer_ptr tokenizer, const sampling_params& sampling, bool at_start);

  // Appends what may be shown now to `out`. True: a stop string is complete, and nothing more is read.
  bool push(token_id id, std::string& out);
  // A token that counts and is not shown: the one that ended the request.
  void push_silent() { ++tokens_; }
  // What was held back.
  std::string finish();

  std::int32_t tokens() const { return tokens_; }
  const std::optional<std::string>& stopped_by() const { return stopped_by_; }

 private:
  void release(std::string& out);

  incremental_detokenizer detokenizer_;
  stop_strings stops_;
  std::string held_;  // read, not shown
  std::optional<std::string> stopped_by_;
  std::int32_t tokens_ = 0;
  std::int32_t min_tokens_;
  bool include_stop_;
};

}  // namespace troupe
