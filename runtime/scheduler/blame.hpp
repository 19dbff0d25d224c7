// Who takes a device along that ends.
#pragma once

namespace troupe {

enum class blame {
  nobody,               // no step was with it
  perhaps_oldest_step,  // it was killed from outside, as by an operator or a kernel that is out of memory
  oldest_step,          // it crashed, threw or hung
};

}  // namespace troupe
