// Counts the memory that the library requests, and makes requests fail. kv_memory_test.cpp wraps the allocator.
#pragma once

#include <cstddef>

namespace ropewalk {

// Bytes of all aligned requests so far, including memory that has been freed.
extern std::size_t requested_bytes;

// Whether requests can be made to fail: false if the tests are linked without --wrap.
bool can_refuse_memory();

// Number of failed requests since refuse_request().
extern int refused_requests;

// Lets the next `granted` requests succeed and makes the one after them fail. With `all_later`, all later ones fail too, until
// grant_requests().
void refuse_request(int granted, bool all_later);
void grant_requests();

// Calls `act` while a request fails (refuse_request).
template <class Act>
auto without_request(int granted, bool all_later, Act act) {
  refuse_request(granted, all_later);
  const auto result = act();
  grant_requests();
  return result;
}

}  // namespace ropewalk
