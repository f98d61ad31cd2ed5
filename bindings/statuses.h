// How TypeScript users see a status of the core: the code of the error, and its fields and words under their TypeScript names.
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
