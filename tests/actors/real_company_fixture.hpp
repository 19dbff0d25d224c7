// What tests ask of a company on its own threads, by its sockets and by its count.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "actors/company.hpp"

namespace troupe::test {

// Of this process.
std::size_t threads();
std::size_t descriptors();

// Sends `text` to this port of loopback, and reads until the other side closes.
std::string talk(std::uint16_t port, const std::string& text);
// Requests that end their connection.
std::string get(const std::string& path);
std::string post(const std::string& path, const std::string& body);

// Of a company that is small and soon there, on this model.
company_options small_company(const std::string& model_path);

// Every table empty, every block free.
void expect_idle(const company& company);

}  // namespace troupe::test
