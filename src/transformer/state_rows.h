// The rows of one text in a run, with the state of a recurrent layer before them and the memory of the state after them.
#pragma once

namespace ropewalk {

struct StateRows {
  int first, count;
  const float* from;
  float* to;
};

}  // namespace ropewalk
