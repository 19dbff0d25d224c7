// troupe run: one answer, streamed to the standard output.
#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/dialogue/answer_options.hpp"
#include "main/dialogue/conversation.hpp"
#include "main/dialogue/embedded.hpp"
#include "main/exit_code.hpp"
#include "runtime/json/json.hpp"
#include "runtime/utf8.hpp"

namespace troupe::cli {
namespace {

struct run_options {
  config::setting_sources sources;
  answer_options answer;
  std::string prompt;
};

// `signal`: the one that has aborted it, if any.
int exit_code_of(const finished& end, int signal) {
  switch (end.reason) {
    case finish_reason::stop:
    case finish_reason::length:
      return exit_ok;
    case finish_reason::abort:
      return 128 + signal;
    case finish_reason::timeout:
      complain("the request timed out");
      return exit_failure;
    case finish_reason::error:
      break;
  }
  complain(end.failure ? end.failure->message : "the request failed");
  return exit_failure;
}

int run(const run_options& options) {
  signal_watch signals;
  const std::string prompt = replace_invalid_utf8(
      options.prompt == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {}) : options.prompt);
  auto started = start_embedded(options.sources);
  if (!started) return started.error();
  conversation talk(*(*started)->port());
  std::atomic<int> ended_by{SIGINT};
  const scoped_handler on_signal(signals, [&talk, &ended_by](int signal, int count) {
    ended_by = signal;
    if (count > 1 || !talk.abort()) std::_Exit(128 + signal);
  });
  auto messages = json::array();
  if (!options.answer.system.empty())
    messages.push_back({{"role", "system"}, {"content", options.answer.system}});
  messages.push_back({{"role", "user"}, {"content", prompt}});
  const answer said = talk.ask(messages, to_sampling(options.answer));
  if (!said.text.empty() && said.text.back() != '\n') std::puts("");
  if (std::ferror(stdout) != 0) return exit_failure;  // finish_output() says so
  return exit_code_of(said.end, ended_by);
}

}  // namespace

void add_run(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<run_options>();
  CLI::App* command = app.add_subcommand("run", "Answer one prompt, without a service");
  command->add_option("prompt", options->prompt, "The user's message; -: read the standard input")
      ->type_name("PROMPT")
      ->required();
  add_answer_flags(*command, options->answer);
  using enum config::option_group;
  config::add_flags(*command, {model, engine, logging}, options->sources);
  command->footer(
      "\nExamples:\n"
      "  troupe run \"What is the capital of Japan?\"\n"
      "  troupe run --temperature 0.7 --seed 1 \"Tell me a story\"\n"
      "  troupe run --system \"Answer in one word.\" - < question.txt");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace troupe::cli
