// What the process ends with; beyond 2 as in BSD's sysexits.h.
#pragma once
#include <string>
#include <string_view>

#include "runtime/result.hpp"

namespace troupe::cli {

enum exit_code : int {
  exit_ok = 0,
  exit_failure = 1,         // a port in use, no memory, a failed request
  exit_usage = 2,           // an unknown flag or subcommand
  exit_no_model = 66,       // the model file is missing, damaged or of a kind that is not served
  exit_internal = 70,       // a fault of this program
  exit_configuration = 78,  // a setting of the wrong kind or out of range
};

// Prints lines to the standard error stream; for the journal each has its priority.
void print_error(std::string_view lines);
// "troupe: MESSAGE", and "troupe: warning: MESSAGE"; lines of the log once complain_in_log() was called.
void complain(const std::string& message);
void warn(const std::string& message);
void complain_in_log();

// Writes out what the standard output still holds. `code` where that worked; else says why not, and
// exit_failure unless `code` is a failure already.
int finish_output(int code);

// Prints the error and gives the exit code that its kind asks for. What is unsupported is the model's fault
// unless a setting is named.
int report(const error& failure);
// The same of a listening socket that cannot be had, whose port is that of `option` ("--port"): a host that
// is none is a setting, anything else is the machine's state.
int report_listening(const error& failure, const char* option);

}  // namespace troupe::cli
