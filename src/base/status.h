// The status codes that core functions return. The core never throws, prints or aborts.
#pragma once

namespace ropewalk {

// One enumerator for each cause, so that a caller can name the config key or argument at fault.
enum class Status : int {
#define ROPEWALK_STATUS(name, code, field, requirement) name,
#include "base/status.def"
#undef ROPEWALK_STATUS
};

// What a status says. The texts are static, so that reporting a failure allocates nothing: memory may be what has run out.
struct StatusText {
  const char* code;         // RopewalkErrorCode in web/src/core/base/errors.ts, or OK
  const char* field;        // path of the config key or argument at fault, as the package names it; "" if there is none
  const char* requirement;  // what it must be, or what is wrong with it
};

// Returns the text of a status: "field: requirement" is a message for people. An unknown one has the requirement "is unknown".
StatusText describe_status(Status status);

}  // namespace ropewalk
