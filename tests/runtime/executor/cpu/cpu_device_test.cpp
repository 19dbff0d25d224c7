#include "runtime/executor/cpu/cpu_device.hpp"

#include <gtest/gtest.h>

#include "kernels/dispatch.hpp"

namespace troupe {
namespace {

TEST(CpuDevice, TakesEveryKernelPathThatThisCpuHas) {
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    const auto device = check_cpu_device(table->name, "auto", "auto");
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->kernels, table);
    EXPECT_NE(describe(*device).find(table->name), std::string::npos);
  }
  EXPECT_EQ(check_cpu_device("auto", "auto", "int8")->kv_dtype, kernels::kv_dtype::int8);
}

TEST(CpuDevice, NamesThePathsItHasWhereItLacksOne) {
  const auto device = check_cpu_device("amx9", "auto", "auto");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, error_code::unsupported);
  EXPECT_EQ(device.error().param, "kernel_path");
  EXPECT_NE(device.error().message.find("reference"), std::string::npos) << device.error().message;
}

TEST(CpuDevice, SaysWhatItComputesInWhereAnotherTypeIsAskedFor) {
  for (const char* dtype : {"half", "float16", "bfloat16", "float", "float32"}) {
    const auto device = check_cpu_device("auto", dtype, "auto");
    ASSERT_FALSE(device) << dtype;
    EXPECT_EQ(device.error().code, error_code::unsupported);
    EXPECT_EQ(device.error().param, "dtype");
    for (const char* word : {dtype, "float32", "int8", "auto"})
      EXPECT_NE(device.error().message.find(word), std::string::npos) << device.error().message;
  }
  EXPECT_EQ(check_cpu_device("auto", "fp4", "auto").error().code, error_code::invalid_argument);
  EXPECT_EQ(check_cpu_device("auto", "auto", "fp8").error().param, "kv_cache_dtype");
}

}  // namespace
}  // namespace troupe
