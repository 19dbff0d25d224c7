// The end of a process that waits for nothing, and leaves nobody behind.
#pragma once

namespace troupe {

// Ends this process at once, and before it its children, also one that has not come to end_with_parent() yet.
// Calls no destructor. Any thread; not in a handler of signals.
[[noreturn]] void exit_with_children(int code);

}  // namespace troupe
