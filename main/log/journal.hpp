// Whether a stream leads into the system's journal, whose lines begin with their priority (sd-daemon(3)).
#pragma once

namespace troupe::cli {

// `file`: a descriptor. As systemd.exec(5) tells to find out.
bool is_journal(int file);

}  // namespace troupe::cli
