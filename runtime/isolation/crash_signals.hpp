// Tells what a step does to its process from what somebody outside does to it: a step that ends the process
// makes its requests suspects, a signal that was sent must not.
#pragma once
#include <string_view>

namespace troupe {

// Whether a fault of the program itself raises it: a segmentation fault, abort(), a division by zero.
bool is_crash_signal(int signal);

// From now on a crash signal that another process has sent ends this one as SIGKILL does, after a line on
// standard error that says who has sent it: by its end nobody takes it for a crash. One of its own does what
// it has done so far.
void end_by_sent_crash_signals();

// A line on standard error, in one piece; left out where nobody takes it at once. A signal handler may call
// it.
void say_at_the_end(std::string_view line);

}  // namespace troupe
