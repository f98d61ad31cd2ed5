// Maps a status of the core to the error that TypeScript users see: its code, and the field under its TypeScript name.
#pragma once

#include <string>

#include "base/status.h"

namespace ropewalk::bindings {

struct StatusFields {
  std::string code;         // RopewalkErrorCode of web/src/base/errors.ts
  std::string field;        // path of the config field or option at fault, "" if there is none
  std::string requirement;  // what it must be, or what is wrong with it
};

StatusFields status_fields(int status);

}  // namespace ropewalk::bindings
