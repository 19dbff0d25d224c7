#include "metrics/nvml.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/paths.hpp"

namespace troupe::metrics {
namespace {

constexpr const char* bus_id = "0000:65:00.0";

TEST(Nvml, TellsMemoryPowerAndTemperatureOfTheDeviceOnThatBus) {
  ::setenv("FAKE_NVML_USED", "600", 1);
  ::setenv("FAKE_NVML_MILLIWATTS", "312500", 1);
  nvml library(test::fake_nvml_path());
  const auto reading = library.read(bus_id);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->total_bytes, 1000);
  EXPECT_EQ(reading->free_bytes, 400);
  EXPECT_EQ(reading->used_bytes, 600);
  EXPECT_EQ(reading->watts, 312.5);
  EXPECT_EQ(reading->celsius, 71);
  ::setenv("FAKE_NVML_USED", "700", 1);
  EXPECT_EQ(library.read(bus_id)->used_bytes, 700);
  EXPECT_FALSE(library.read("0000:66:00.0")) << "another device";
}

TEST(Nvml, TellsZeroWattsWhereTheDeviceDoesNotMeasureThem) {
  ::setenv("FAKE_NVML_MILLIWATTS", "0", 1);
  nvml library(test::fake_nvml_path());
  EXPECT_EQ(library.read(bus_id)->watts, 0);
  EXPECT_EQ(library.read(bus_id)->celsius, 71);
}

TEST(Nvml, TellsNothingWhereThereIsNoLibraryOrOneWithoutItsCalls) {
  EXPECT_FALSE(nvml("libno-such-library.so.1").read(bus_id));
  EXPECT_FALSE(nvml("libm.so.6").read(bus_id));
}

}  // namespace
}  // namespace troupe::metrics
