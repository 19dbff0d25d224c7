// How much of the processor the calling thread gets beside others.
#pragma once

namespace troupe {

// The least there is (nice 19), for this thread alone and for good. False where the system refuses.
bool use_lowest_priority();

}  // namespace troupe
