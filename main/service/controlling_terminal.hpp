// The terminal that a process was started from, and whether a SIGHUP tells that it has gone.
#pragma once
#include <sys/types.h>

#include <csignal>

namespace troupe::cli {

class controlling_terminal {
 public:
  // As things are now. Who has none (setsid, a service manager), or ignores SIGHUP already (nohup), is not
  // told of its end.
  controlling_terminal();

  // Whether it has gone, and this SIGHUP is of somebody who tells so: the system, the parent, or the leader
  // of the session, as the shell. Of anybody else it asks for something else, also long after. Takes a moment
  // where they have sent it and the terminal is there.
  bool has_gone_with(const siginfo_t& hangup) const;

 private:
  bool hears_of_it_ = false;
  pid_t parent_ = 0;
  pid_t leader_ = 0;
};

}  // namespace troupe::cli
