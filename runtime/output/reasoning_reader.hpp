// Tells what a model thinks from what it answers, in a text that comes piece by piece
// (runtime/reasoning.hpp).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/reasoning.hpp"

namespace troupe {

class reasoning_reader {
 public:
  explicit reasoning_reader(reasoning_start start = reasoning_start::none);

  // What a piece of text adds to either. The marks are in neither, nor is white space around them.
  struct parts {
    std::string reasoning = {};
    std::string answer = {};
  };
  // The next piece. What may be the beginning of a mark is kept back until that is known.
  parts add(std::string_view piece);
  // The text is over: what was kept back. Reasoning that was cut off stays that.
  parts end();

  // Whether it has read the closing mark, or the answer has begun without reasoning.
  bool is_over() const { return place_ == place::answer || place_ == place::behind; }
  // Whether all that follows is the answer's, as it is.
  bool is_done() const { return place_ == place::answer; }
  // Whether there was an opening mark, read here or by the prompt.
  bool has_reasoned() const { return has_reasoned_; }

 private:
  bool read_opening();
  bool read_reasoning(parts& into);
  bool read_behind();

  enum class place : std::uint8_t { opening, reasoning, behind, answer };
  place place_;
  bool has_reasoned_;
  bool has_told_reasoning_ = false;
  std::string kept_;  // not told yet
};

}  // namespace troupe
