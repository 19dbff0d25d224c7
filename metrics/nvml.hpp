// What NVIDIA's management library says of a device, where the driver has brought it along.
#pragma once
#include <optional>
#include <string>

namespace troupe::metrics {

// 0: it does not say, as of the memory of a device that has none of its own, or does not measure it.
struct nvml_reading {
  double total_bytes = 0;
  double free_bytes = 0;
  double used_bytes = 0;  // by everybody
  double watts = 0;
  double celsius = 0;
};

// Opened by its first reading; it stays in memory until the program ends. Nothing of a device is taken.
class nvml {
 public:
  // A file name that the loader knows, or a path.
  explicit nvml(std::string library) : library_(std::move(library)) {}

  // Of the device at this place of the PCI bus ("0000:65:00.0"). Nothing where there is no library, where it
  // lacks a call, and where it knows no such device. Takes some milliseconds, or as long as the driver does
  // not answer. One thread at a time.
  std::optional<nvml_reading> read(const std::string& bus_id);

 private:
  // The library's calls, as its reference manual describes them; every status but 0 is an error.
  struct device_of_nvml;
  struct memory_of_nvml {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
  };
  struct calls {
    int (*init)() = nullptr;
    int (*find)(const char* bus_id, device_of_nvml** device) = nullptr;
    int (*memory)(device_of_nvml* device, memory_of_nvml* memory) = nullptr;
    int (*power)(device_of_nvml* device, unsigned* milliwatts) = nullptr;
    int (*temperature)(device_of_nvml* device, int sensor, unsigned* celsius) = nullptr;
  };
  void open();

  std::string library_;
  bool is_tried_ = false;
  std::optional<calls> calls_;
};

}  // namespace troupe::metrics
