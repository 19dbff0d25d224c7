// Tells what a step does to its process from what somebody outside does to it: a step that ends the process
// makes its requests suspects, a signal that was sent must not.
#pragma once
#include <csignal>
#include <string>

namespace troupe {

// Whether a fault of the program itself raises it: a segmentation fault, abort(), a division by zero.
bool is_crash_signal(int signal);
sigset_t crash_signals();

// From now on a crash signal that another process has sent ends this one by a signal that stands for it, so
// that nobody takes it for a crash: no core is left. One of its own does what it has done so far. Also of
// those that were sent while they were blocked; they are not any more. Call it before there are threads.
void end_by_sent_crash_signals();

// Of a signal that a process has ended by: "signal 11 (Segmentation fault)", and that another process has
// sent it where that is known.
std::string describe_signal(int signal);

}  // namespace troupe
