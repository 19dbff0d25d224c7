// What the terminal behind a stream, if there is one, can be shown.
#pragma once

namespace troupe::cli {

// Whether the standard error stream is a terminal.
bool on_terminal();

// Whether what stands there can be drawn over: a terminal, and one that knows how (TERM).
bool can_be_drawn_over(int descriptor);

// Whether there may be colours: a terminal that has them, and whose person has not asked for none (NO_COLOR,
// https://no-color.org).
bool may_have_colors(int descriptor);

}  // namespace troupe::cli
