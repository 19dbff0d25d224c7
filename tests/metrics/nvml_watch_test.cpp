#include "metrics/nvml_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tests/metrics/fake_nvml.hpp"

namespace troupe::metrics {
namespace {

constexpr const char* watched = test::fake_nvml_device::bus_id;

// Another thread's doing, at some time.
bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

TEST(NvmlWatch, TellsWhatWasReadLately) {
  test::the_fake_nvml().used = 600;
  nvml_watch watch(test::fake_nvml_path());
  ASSERT_TRUE(comes_true([&] { return watch.read(watched).has_value(); }));
  test::the_fake_nvml().used = 300;
  EXPECT_TRUE(comes_true([&] { return watch.read(watched)->used_bytes == 300; })) << "it is read again";
  EXPECT_FALSE(watch.read("0000:66:00.0")) << "of another device";
  EXPECT_TRUE(comes_true([&] { return watch.read(watched).has_value(); }));
  EXPECT_FALSE(watch.read(""));
}

TEST(NvmlWatch, WithoutALibraryTellsNothing) {
  nvml_watch watch("libno-such-library.so.1");
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(watch.read(watched));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(NvmlWatch, KeepsNobodyWaitingWhereTheLibraryDoesNotAnswer) {
  test::fake_nvml_device& device = test::the_fake_nvml();
  {
    nvml_watch watch(test::fake_nvml_path());
    ASSERT_TRUE(comes_true([&] { return watch.read(watched).has_value(); }));
    device.hangs = true;
    EXPECT_TRUE(comes_true([&] { return !watch.read(watched); })) << "what is old is told no more";
    nvml_watch another(test::fake_nvml_path());
    const int before = device.readings;
    EXPECT_FALSE(another.read(watched));
    EXPECT_TRUE(comes_true([&] { return device.readings > before; }));
    EXPECT_FALSE(another.read(watched));
  }  // nor is their end kept waiting
  device.hangs = false;
  nvml_watch later(test::fake_nvml_path());
  EXPECT_TRUE(comes_true([&] { return later.read(watched).has_value(); }));
}

}  // namespace
}  // namespace troupe::metrics
