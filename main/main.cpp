// troupe: one program, many subcommands.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/usage.hpp"

namespace {

constexpr const char* footer = R"(
Examples:
  troupe serve                                   serve the default model on 127.0.0.1:8000
  troupe serve --model my.gguf --port 9000
  troupe run "What is the capital of Japan?"    one answer, no service
  troupe chat                                    talk to the model in the terminal
  troupe SUBCOMMAND --help                       the options of a subcommand)";

int parse_and_run(int argc, char** argv) {
  CLI::App app("Serves large language models as a company of actors.", "troupe");
  app.set_version_flag("--version", std::string("troupe ") + TROUPE_VERSION);
  app.require_subcommand(0, 1);
  app.failure_message(troupe::cli::failure_text);
  troupe::cli::command_body chosen;
  troupe::cli::add_serve(app, chosen);
  troupe::cli::add_run(app, chosen);
  troupe::cli::add_chat(app, chosen);
  troupe::cli::add_top(app, chosen);
  troupe::cli::add_tokenize(app, chosen);
  troupe::cli::add_inspect(app, chosen);
  troupe::cli::add_bench(app, chosen);
  troupe::cli::add_buckets(app, chosen);
  troupe::cli::add_grammar(app, chosen);
  troupe::cli::add_config(app, chosen);
  troupe::cli::add_gpu_selftest(app, chosen);
  troupe::cli::add_runner_process(app, chosen);
  app.footer(footer);  // not before, or each subcommand without examples would show these
  try {
    app.parse(argc, argv);
  } catch (const CLI::ExtrasError&) {
    troupe::cli::complain_of_extras(app);
    return troupe::cli::exit_usage;
  } catch (const troupe::config::no_truth_value& why) {
    troupe::cli::complain(why.what());
    return troupe::cli::exit_configuration;
  } catch (const CLI::ParseError& failure) {
    std::ostringstream why;
    const int code = app.exit(failure, std::cout, why);
    troupe::cli::print_error(why.str());
    return troupe::cli::finish_output(code == 0 ? troupe::cli::exit_ok : troupe::cli::exit_usage);
  }
  if (!chosen) {
    troupe::cli::complain("a subcommand is required; troupe --help lists them");
    return troupe::cli::exit_usage;
  }
  return troupe::cli::finish_output(chosen());
}

// What the program opens must not take the number of a stream that whoever starts it has closed: its messages
// would be written there. An output that is closed stays one that cannot be written.
void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

// Who asks a service to read its settings anew does not know how far its start is: SIGHUP waits until it is
// heard (signal_watch).
void keep_hangup(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "serve") return;
  sigset_t hangup;
  sigemptyset(&hangup);
  sigaddset(&hangup, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &hangup, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  keep_hangup(argc, argv);
  try {
    return parse_and_run(argc, argv);
  } catch (const std::bad_alloc&) {
    troupe::cli::complain("there is not enough memory");
    return troupe::cli::exit_failure;
  } catch (const std::exception& failure) {
    troupe::cli::complain(std::string("internal error: ") + failure.what());
    return troupe::cli::exit_internal;
  }
}
