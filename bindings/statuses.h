// Maps a status of the core to the error that TypeScript users see: its code, and the field under its TypeScript name.
#pragma once

#include "base/status.h"

namespace ropewalk::bindings {

// The texts are static, so that reporting a failure allocates nothing: memory may be what has run out.
struct StatusTexts {
  const char* code;         // RopewalkErrorCode of web/src/base/errors.ts
  const char* field;        // path of the config field or option at fault, "" if there is none
  const char* requirement;  // what it must be, or what is wrong with it
};

StatusTexts status_texts(Status status);

}  // namespace ropewalk::bindings
