// Finds the calls in a text that a model writes piece by piece (runtime/grammar/tool_calls.hpp says how they
// look).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::openai {

// What a piece of text adds to a call.
struct tool_call_part {
  std::size_t index = 0;       // of the call among those of its text
  std::string name = {};       // with its first part only
  std::string arguments = {};  // JSON text, a part of it
};

// What a piece of text adds to an answer.
struct answer_part {
  std::string content = {};
  std::vector<tool_call_part> calls = {};  // at most one of each call
};

class tool_call_reader {
 public:
  // The next piece. What may be the beginning of a call, or of its end, is kept back until that is known; so
  // is white space, which is left out before and behind calls, and at the end of a text that has some.
  answer_part add(std::string_view piece);
  // The text is over: adds what was kept back. A call whose name was not whole by then is content.
  void end(answer_part& into);
  // Calls that have been written to their ends.
  std::size_t complete_calls() const { return complete_; }

 private:
  bool read_content(answer_part& into);
  bool read_name(answer_part& into);
  bool read_arguments(answer_part& into);
  void add_arguments(answer_part& into, std::size_t bytes);

  enum class place { content, name, arguments };
  place place_ = place::content;
  std::string kept_;  // not told yet
  std::size_t begun_ = 0;
  std::size_t complete_ = 0;
};

}  // namespace troupe::openai
