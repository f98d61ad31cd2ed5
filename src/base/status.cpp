#include "base/status.h"

#include <cstddef>
#include <iterator>

namespace ropewalk {
namespace {

constexpr StatusText kTexts[] = {
#define ROPEWALK_STATUS(name, code, field, requirement) {#code, field, requirement},
#include "base/status.def"
#undef ROPEWALK_STATUS
};

}  // namespace

StatusText describe_status(Status status) {
  const auto index = static_cast<std::size_t>(status);
  return index < std::size(kTexts) ? kTexts[index] : StatusText{"INVALID_ARGUMENT", "status", "is unknown"};
}

}  // namespace ropewalk
