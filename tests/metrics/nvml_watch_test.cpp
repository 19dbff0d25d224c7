#include "metrics/nvml_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/metrics/fake_nvml.hpp"

namespace troupe::metrics {
namespace {

class NvmlWatch : public test::with_fake_nvml {};

TEST_F(NvmlWatch, TellsWhatWasReadLately) {
  device().used = 600;
  nvml_watch watch(test::fake_nvml_path());
  EXPECT_FALSE(watch.latest());
  watch.watch(device().bus_id);
  ASSERT_TRUE(test::comes_true([&] { return watch.latest().has_value(); }));
  device().used = 300;
  EXPECT_TRUE(test::comes_true([&] {
    const auto now = watch.latest();
    return now && now->used_bytes == 300;
  })) << "it is read again";
  watch.watch("0000:66:00.0");
  EXPECT_FALSE(watch.latest()) << "of another device";
  watch.watch(device().bus_id);
  EXPECT_TRUE(test::comes_true([&] { return watch.latest().has_value(); }));
  watch.watch("");
  EXPECT_FALSE(watch.latest());
}

TEST_F(NvmlWatch, WithoutALibraryTellsNothing) {
  nvml_watch watch("libno-such-library.so.1");
  watch.watch(device().bus_id);
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(watch.latest());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST_F(NvmlWatch, KeepsNobodyWaitingWhereTheLibraryDoesNotAnswer) {
  {
    nvml_watch watch(test::fake_nvml_path());
    watch.watch(device().bus_id);
    ASSERT_TRUE(test::comes_true([&] { return watch.latest().has_value(); }));
    device().hangs = true;
    EXPECT_TRUE(test::comes_true([&] { return !watch.latest(); })) << "what is old is told no more";
    nvml_watch another(test::fake_nvml_path());
    const int before = device().readings;
    another.watch(device().bus_id);
    EXPECT_TRUE(test::comes_true([&] { return device().readings > before; }));
    EXPECT_FALSE(another.latest());
  }  // nor is their end kept waiting
  device().hangs = false;
  nvml_watch later(test::fake_nvml_path());
  later.watch(device().bus_id);
  EXPECT_TRUE(test::comes_true([&] { return later.latest().has_value(); }));
}

}  // namespace
}  // namespace troupe::metrics
