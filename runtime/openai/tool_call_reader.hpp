// Finds the calls in a text that a model writes piece by piece
// (runtime/grammar/notations/tool_call_form.hpp).
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/stream.hpp"

namespace troupe::openai {

// What a piece of text adds to a call.
struct tool_call_part {
  std::size_t index = 0;       // of the call among those of its text
  std::string name = {};       // with its first part only
  std::string arguments = {};  // JSON text, a part of it
};

// What a piece of text adds to an answer: text, or to a call.
struct answer_part {
  std::string text = {};
  std::optional<tool_call_part> call = {};
};

class tool_call_reader {
 public:
  // The next piece. What may be the beginning of a call is kept back until that is known, and so is white
  // space, which is left out in front of a call and behind the last.
  // In the order written; what belongs together is one part.
  std::vector<answer_part> add(std::string_view piece);
  // The text is over: adds what was kept back. A call whose name was not whole by then is left out, and
  // where the text was cut off (`is_cut`) what may be the beginning of one, too.
  void end(bool is_cut, std::vector<answer_part>& into);
  // Whether there were calls, and each was written to its end.
  bool has_called() const { return begun_ > 0 && begun_ == complete_; }
  // Whether one was begun, and not written to its end.
  bool is_calling() const { return begun_ > complete_; }
  // Whether that of the index was.
  bool is_complete(std::size_t call) const { return call < complete_; }

 private:
  bool read_content(std::vector<answer_part>& into);
  bool read_name(std::vector<answer_part>& into);
  bool read_arguments(std::vector<answer_part>& into);
  bool read_closing();
  std::size_t arguments_in(std::string_view text);

  enum class place { content, name, arguments, closing };
  place place_ = place::content;
  std::string kept_;       // not told yet
  std::size_t space_ = 0;  // bytes of it in front of a call
  std::size_t begun_ = 0;  // calls
  std::size_t complete_ = 0;
  std::size_t depth_ = 0;  // of the arguments: objects and arrays that are open
  bool in_string_ = false;
  bool escaped_ = false;
};

// What `text` adds to an answer, with its end where that is not null; where no tools are offered all of it is
// text.
std::vector<answer_part> parts_of(std::string_view text, const finished* end, bool are_tools_offered,
                                  tool_call_reader& calls);

}  // namespace troupe::openai
