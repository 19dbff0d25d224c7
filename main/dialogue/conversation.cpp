#include "main/dialogue/conversation.hpp"

#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "main/exit_code.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::cli {
namespace {

// What the port's threads leave for the one that prints. Shared with the sink, which may outlive the
// question.
struct pending_answer {
  std::mutex mutex;
  std::condition_variable changed;
  std::string reasoning;
  std::string text;
  std::optional<finished> end;
};

struct taken {
  std::string reasoning;
  std::string text;
  std::optional<finished> end;  // unset: more may come
};

// Waits for the next text or the end.
taken take(pending_answer& from) {
  std::unique_lock lock(from.mutex);
  from.changed.wait(lock,
                    [&] { return !from.reasoning.empty() || !from.text.empty() || from.end.has_value(); });
  return {std::exchange(from.reasoning, {}), std::exchange(from.text, {}), from.end};
}

void print(std::string_view text, std::FILE* to) {
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

// A blank line stands between what the model thinks and its answer.
void print(const taken& next, answer& said) {
  print(next.reasoning, stderr);
  said.reasoning += next.reasoning;
  const bool is_over = !next.text.empty() || next.end;
  if (is_over && said.text.empty() && !said.reasoning.empty()) print("\n\n", stderr);
  print(next.text, stdout);
  said.text += next.text;
}

}  // namespace

answer conversation::ask(const json& messages, const sampling_params& sampling) {
  answer said = ask_once(messages, sampling);
  const std::optional<error>& refusal = said.end.failure;
  const bool is_too_long = refusal && refusal->code == error_code::context_length_exceeded &&
                           refusal->param == sampling.max_tokens_field;
  if (!is_too_long) return said;
  // So that max_tokens is more than all that is left.
  sampling_params all_that_is_left = sampling;
  all_that_is_left.max_tokens.reset();
  return ask_once(messages, all_that_is_left);
}

answer conversation::ask_once(const json& messages, const sampling_params& sampling) {
  const auto request = std::make_shared<generation_request>();
  request->prompt = chat_prompt{.messages = messages, .add_generation_prompt = true};
  request->sampling = sampling;
  const auto pending = std::make_shared<pending_answer>();
  {
    const std::lock_guard lock(mutex_);  // an abort waits until there is something to abort
    asking_ = port_.generate(request, [pending](stream_event event) {
      for (const std::string& warning : event.warnings) warn(warning);
      const std::lock_guard pending_lock(pending->mutex);
      pending->reasoning += event.reasoning;
      pending->text += event.text;
      if (event.end) pending->end = std::move(event.end);
      pending->changed.notify_one();
    });
  }
  answer out;
  std::optional<finished> end;
  while (!end) {
    taken next = take(*pending);
    print(next, out);
    if (!next.end && std::ferror(stdout) != 0) abort();
    end = std::move(next.end);
  }
  const std::lock_guard lock(mutex_);
  asking_.reset();
  out.end = std::move(*end);
  return out;
}

bool conversation::abort() {
  const std::lock_guard lock(mutex_);
  if (asking_) port_.abort(*asking_);
  return asking_.has_value();
}

}  // namespace troupe::cli
