// troupe chat: a conversation in the terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/dialogue/answer_options.hpp"
#include "main/dialogue/conversation.hpp"
#include "main/dialogue/embedded.hpp"
#include "main/exit_code.hpp"
#include "runtime/json/json.hpp"
#include "runtime/utf8.hpp"
#include "runtime/without_blanks.hpp"

namespace troupe::cli {
namespace {

struct chat_options {
  config::setting_sources sources;
  answer_options answer;
};

constexpr const char* help_text =
    "/reset   forget the conversation\n"
    "/help    this text\n"
    "/exit    leave; so does Ctrl-D. Ctrl-C stops an answer\n";

constexpr int ended_by_ctrl_c = 128 + SIGINT;

class chat_session {
 public:
  chat_session(conversation& talk, const answer_options& options) : talk_(talk), options_(options) {
    reset();
  }

  // Reads and answers lines until the input or the person ends it, or nobody takes the answers. Returns the
  // program's exit code: that a question was not answered counts where nobody was there to read so.
  int converse() {
    if (interactive_) std::printf("%s", help_text);
    for (std::string line; show_prompt(), std::getline(std::cin, line);) {
      const std::string said = replace_invalid_utf8(line);
      const std::string_view command = without_blanks(said, " \t\r");
      if (command == "/exit" || command == "/quit") break;
      obey_or_answer(command, said);
      if (is_interrupted_) return ended_by_ctrl_c;
      if (std::ferror(stdout) != 0) return exit_failure;  // finish_output() says so
    }
    if (interactive_) std::puts("");
    return was_refused_ && !interactive_ ? exit_failure : exit_ok;
  }

  // Any thread: Ctrl-C stops an answer; between answers it only begins a new line. Where no person types the
  // lines it ends all of it.
  void interrupt(int count) {
    if (!interactive_) is_interrupted_ = true;
    if (talk_.abort() && (interactive_ || count == 1)) return;
    if (!interactive_) {
      std::fflush(stdout);
      std::_Exit(ended_by_ctrl_c);
    }
    std::puts("");
    show_prompt();
  }

 private:
  void show_prompt() const {
    if (!interactive_) return;
    std::fputs("> ", stdout);
    std::fflush(stdout);
  }

  void reset() {
    messages_ = json::array();
    if (!options_.system.empty()) messages_.push_back({{"role", "system"}, {"content", options_.system}});
  }

  // `command`: the line without the blanks around it. A path alone is taken for a command that is not known.
  void obey_or_answer(std::string_view command, const std::string& line) {
    if (command.empty()) return;
    if (command == "/help") {
      std::printf("%s", help_text);
    } else if (command == "/reset") {
      reset();
      std::puts("(forgotten)");
    } else if (command.front() == '/' && command.find(' ') == std::string_view::npos) {
      std::printf("unknown command %s; /help lists them\n", std::string(command).c_str());
    } else {
      reply_to(line);
    }
  }

  void reply_to(const std::string& line) {
    messages_.push_back({{"role", "user"}, {"content", line}});
    const answer said = talk_.ask(messages_, to_sampling(options_));
    std::puts(said.end.reason == finish_reason::abort ? " (stopped)" : "");
    if (said.end.reason == finish_reason::error || said.end.reason == finish_reason::timeout) {
      complain(said.end.failure ? said.end.failure->message + " (/reset forgets the conversation)"
                                : "the request failed");
      messages_.erase(messages_.size() - 1);
      was_refused_ = true;
      return;
    }
    messages_.push_back({{"role", "assistant"}, {"content", said.text}});
    if (!said.reasoning.empty()) messages_.back()["reasoning_content"] = said.reasoning;
  }

  conversation& talk_;
  const answer_options& options_;
  const bool interactive_ = isatty(STDIN_FILENO) == 1;
  json messages_;
  bool was_refused_ = false;
  std::atomic<bool> is_interrupted_ = false;  // for good
};

int chat(const chat_options& options) {
  signal_watch signals;
  auto started = start_embedded(options.sources);
  if (!started) return started.error();
  conversation talk(*(*started)->port());
  chat_session session(talk, options.answer);
  const scoped_handler on_signal(signals, [&session](int signal, int count) {
    if (signal == SIGTERM) std::_Exit(128 + signal);
    session.interrupt(count);
  });
  return session.converse();
}

}  // namespace

void add_chat(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<chat_options>();
  options->answer.temperature = 0.7F;
  options->answer.top_p = 0.9F;
  CLI::App* command = app.add_subcommand("chat", "Talk to the model in the terminal, without a service");
  add_answer_flags(*command, options->answer);
  using enum config::option_group;
  config::add_flags(*command, {model, engine, logging}, options->sources);
  command->footer(
      "\nIn the conversation: /reset forgets it, /help explains, Ctrl-C stops an answer, Ctrl-D ends.\n"
      "\nExamples:\n"
      "  troupe chat\n"
      "  troupe chat --system \"You are a pirate.\" --temperature 1");
  command->callback([options, &chosen] { chosen = [options] { return chat(*options); }; });
}

}  // namespace troupe::cli
