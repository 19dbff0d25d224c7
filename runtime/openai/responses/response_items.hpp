// What a model has written so far as the items of a response's output: what it thought, what it says, and its
// calls, in the order in which they were begun.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/openai/logprobs.hpp"
#include "runtime/openai/request.hpp"
#include "runtime/openai/tool_call_reader.hpp"
#include "runtime/reasoning.hpp"
#include "runtime/stream.hpp"

namespace troupe::openai {

struct response_item {
  // What was thought, as it is or where clients look for its summary.
  enum class kind { reasoning, summary, message, function_call };
  kind what = kind::message;
  std::string text = {};  // a call's: its arguments
  std::string name = {};  // of what is called
  std::size_t call = 0;   // its number among the calls
  std::vector<token_logprobs> logprobs = {};
  bool is_complete = false;
};

// What an event does to the item at `index`: these in the order of the members.
struct item_change {
  std::size_t index = 0;
  bool begins = false;
  std::string text = {};
  std::vector<token_logprobs> logprobs = {};  // of the tokens that spell a message's text
  bool ends = false;                          // whether or not it is complete
};

class response_items {
 public:
  // `name` must outlive them.
  response_items(const answer_options& options, const token_namer& name) : options_(options), name_(name) {}

  // One item is open at most: it ends where another begins, or with the event that is the answer's end. An
  // answer that came to its end without a word is an empty message.
  std::vector<item_change> add(const stream_event& event);
  const std::vector<response_item>& all() const { return items_; }
  // Whether an item was begun that has not come to its end, or a call that was too short for one.
  bool has_cut_off() const { return calls_.is_calling() || (!items_.empty() && !items_.back().is_complete); }

 private:
  // Begins one where another kind is open, or, of calls, another one.
  void write(response_item::kind what, std::string_view text, const tool_call_part* call);
  void close(bool is_complete);
  item_change& change_of_last();  // what the event does to the last item
  void end(const finished& how);
  std::vector<token_logprobs> take_logprobs(std::string_view text);

  answer_options options_;
  const token_namer& name_;
  tool_call_reader calls_;
  std::vector<response_item> items_;
  std::vector<item_change> changes_;     // of the event that is being added
  std::vector<token_logprobs> pending_;  // of tokens that are in no text yet
  // What stands between these and the next text: at the beginning it may be that of thoughts of no words.
  std::string_view mark_before_ = reasoning_marks::closing;
  bool is_open_ = false;  // the last item
};

}  // namespace troupe::openai
