#include "metrics/nvml.hpp"

#include <gtest/gtest.h>

#include "tests/metrics/fake_nvml.hpp"

namespace troupe::metrics {
namespace {

constexpr const char* bus_id = test::fake_nvml_device::bus_id;

class Nvml : public test::with_fake_nvml {};

TEST_F(Nvml, TellsMemoryPowerAndTemperatureOfTheDeviceOnThatBus) {
  device().used = 600;
  device().milliwatts = 312'500;
  nvml library(test::fake_nvml_path());
  const auto reading = library.read(bus_id);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->total_bytes, 1000);
  EXPECT_EQ(reading->free_bytes, 400);
  EXPECT_EQ(reading->used_bytes, 600);
  EXPECT_EQ(reading->watts, 312.5);
  EXPECT_EQ(reading->celsius, 71);
  device().used = 700;
  EXPECT_EQ(library.read(bus_id)->used_bytes, 700);
  EXPECT_FALSE(library.read("0000:66:00.0")) << "another device";
}

TEST_F(Nvml, TellsZeroWattsWhereTheDeviceDoesNotMeasureThem) {
  device().milliwatts = 0;
  nvml library(test::fake_nvml_path());
  EXPECT_EQ(library.read(bus_id)->watts, 0);
  EXPECT_EQ(library.read(bus_id)->celsius, 71);
}

TEST_F(Nvml, TellsTheRestOfADeviceWithoutMemoryOfItsOwn) {
  device().total = 0;
  device().milliwatts = 30'000;
  const auto reading = nvml(test::fake_nvml_path()).read(bus_id);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->total_bytes, 0);
  EXPECT_EQ(reading->watts, 30);
  EXPECT_EQ(reading->celsius, 71);
}

TEST_F(Nvml, TellsNothingWhereThereIsNoLibraryOrOneWithoutItsCalls) {
  EXPECT_FALSE(nvml("libno-such-library.so.1").read(bus_id));
  EXPECT_FALSE(nvml("libm.so.6").read(bus_id));
}

}  // namespace
}  // namespace troupe::metrics
