// Removes tokens of a sequence: the last ones (rewinding), or those that leave a sliding window, after which the others move down.
#pragma once

#include "cache/kv_storage.h"

namespace ropewalk {

// As KvCache::truncate().
Status truncate_tokens(KvStorage& storage, int sequence, int tokens);

// As KvCache::shift() and can_shift().
Status shift_tokens(KvStorage& storage, int sequence, int keep, int discard);
Status can_shift_tokens(const KvStorage& storage, int sequence, int keep, int discard);

}  // namespace ropewalk
