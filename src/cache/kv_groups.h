// The groups of a cache of q4_channel (channel_group.h, kv_geometry.h): closes them as tokens follow, and opens them where a sequence is
// cut.
//
// A group b of a layer is closed when the layer has kBlockTokens · (b + 1) + kOpenTokens tokens, and the token that is then the last reads
// it closed. Earlier tokens of the same append still read the open form. So the bits don't depend on how a text is divided into appends.
//
// - A truncation to tokens of the last append leaves no trace of the others (rejected guesses), because both forms are there until the next
// one.
// - Otherwise a group that is closed stays closed, also if the sequence is truncated to fewer tokens than closed it.
// - Truncation within a closed group opens that group: its elements become f16, and are rounded to four bits once more when it is closed
// again.
// - A shift by whole groups moves them as they are. Another shift opens all groups that move, and closes them again.
// - Changes of rope and positions don't touch keys: they are raw.
#pragma once

#include "cache/kv_storage.h"

namespace ropewalk {

// Allocates what close_groups() will write for a layer that is about to have `written` tokens. Returns out_of_memory or ok.
Status reserve_groups(KvSequence& cached, int layer, int written);

// Closes the groups of a layer that its tokens close.
void close_groups(KvStorage& storage, KvSequence& cached, int layer);

// Keeps the first `tokens` tokens. On failure (out_of_memory) nothing changes.
Status cut_groups(KvStorage& storage, KvSequence& cached, int tokens);

// KvSequence::remove(), of a sequence whose pages from `first` on are not shared. On failure (out_of_memory) no token changes.
Status remove_in_groups(KvStorage& storage, KvSequence& cached, int first, int count);

// Reads the keys (part 0) or values (part 1) of a head in a page as floats, [kBlockTokens][padded_dim], in the form that the next token
// reads.
void load_page_rows(const KvStorage& storage, const KvSequence& cached, int layer, int part, int head, int page, float* rows);

}  // namespace ropewalk
