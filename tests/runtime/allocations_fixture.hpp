// Every allocation of the test program is counted: its operators new are replaced.
#pragma once

namespace troupe::test {

// How many there have been so far, in all threads.
long allocations();

}  // namespace troupe::test
