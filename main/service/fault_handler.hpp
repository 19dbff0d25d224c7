// The exit code of a fault of the program itself.
#pragma once

namespace troupe::cli {

// From now on what would end this process by a signal of its own making (a segmentation fault, an abort, ...)
// ends it with exit_internal, after a line on standard error that names the signal and the thread. Where core
// files are wanted (ulimit -c), a copy of the process that has this thread alone leaves one. Somebody else's
// handlers, such as a sanitizer's, stay; a stack that overflows still ends the process by its signal.
void exit_on_fault();

}  // namespace troupe::cli
