// What the device reads: a step's rows with every token known. Of the three shapes of a batch the last one.
#pragma once
#include "runtime/step_batch.hpp"

namespace troupe {

struct device_batch : batch_rows {};

}  // namespace troupe
