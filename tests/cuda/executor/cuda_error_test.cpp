#include "runtime/executor_cuda/device/cuda_error.hpp"

#include "kernels/cuda/emulation/faults.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

namespace emulation = kernels::cuda::emulation;

class cuda_errors : public test::cuda_kernels {
 protected:
  void SetUp() override { before_ = emulation::faults(); }
  void TearDown() override {
    emulation::faults() = before_;
    cudaDeviceReset();
    cuda_kernels::TearDown();
  }

 private:
  emulation::fault_plan before_;
};

TEST_F(cuda_errors, no_room_is_told_as_such_and_forgotten) {
  emulation::faults().device_bytes = 4096;
  EXPECT_THROW(device_memory(1 << 20), out_of_device_memory);
  EXPECT_NO_THROW(device_memory(256));
  EXPECT_NO_THROW(check_launches("nothing"));
}

TEST_F(cuda_errors, a_fault_of_one_call_names_it) {
  try {
    check_cuda(cudaErrorInvalidValue, "cudaSomething");
    FAIL();
  } catch (const device_lost&) {
    FAIL() << "the device is not lost";
  } catch (const std::runtime_error& fault) {
    EXPECT_NE(std::string(fault.what()).find("cudaSomething"), std::string::npos);
  }
}

TEST_F(cuda_errors, an_error_that_stays_is_a_lost_device_at_every_call) {
  const cuda_stream stream;
  device_memory memory(64);
  emulation::faults().error = cudaErrorIllegalAddress;
  emulation::faults().failing_call = 1;
  EXPECT_THROW(stream.fill(memory.data(), 0, memory.size()), device_lost);
  EXPECT_THROW(stream.synchronize(), device_lost);
  EXPECT_THROW(device_memory(64), device_lost);
}

}  // namespace
}  // namespace troupe
