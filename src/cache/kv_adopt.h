// Sequences that come into a cache from elsewhere: from another sequence or cache, or from a saved image.
#pragma once

#include "cache/kv_storage.h"

namespace ropewalk {

// As KvCache::copy_prefix().
Status copy_tokens(const KvStorage& source, int from, KvStorage& target, int to, int tokens);

// As KvCache::adopt().
Status adopt_sequence(KvStorage& storage, int sequence, KvSequence&& restored, const FrequencyPlan* from);

}  // namespace ropewalk
