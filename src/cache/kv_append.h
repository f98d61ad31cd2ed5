// Appends new tokens to the layers of a cache: checks them, sets their positions, rotates them and stores them.
#pragma once

#include "cache/kv_storage.h"

namespace ropewalk {

// New tokens of a layer. Batch row i belongs to sequence i; a single row belongs to the sequence that the call names.
struct NewTokens {
  HeadTensor keys;             // source only, not rotated; f32, f16 or bf16
  HeadTensor values;           // source only; shape, layout and type of the keys; not read if the layer has no values of its own
  HeadTensor queries;          // rotated in place (source == target), or source null; batches, tokens and layout of the keys, any type
  bool has_positions = false;  // false: tokens keep the positions from an earlier layer; others follow the sequence's largest position
  Positions positions;
};

class KvAppend {
 public:
  explicit KvAppend(KvStorage& storage) : storage_(storage) {}

  // As KvCache::append().
  Status append(int layer, int sequence, const NewTokens& tokens);
  // As KvCache::rotate_queries().
  Status rotate_queries(int layer, int sequence, const HeadTensor& queries);

 private:
  // One sequence's part of an append.
  struct Part {
    int tokens;               // tokens of the sequence before the append, to restore on failure
    int written;              // the same for the tokens of the layer
    double largest_position;  // of the new tokens
    float largest_key;        // as scaled by xPos
  };

  // Checks shapes, positions and room, and changes nothing.
  Status check(int layer, const SequenceRange& range, const NewTokens& tokens) const;
  Status check_positions_of(int layer, const KvSequence& cached, const NewTokens& tokens, int row) const;
  // Checks every element.
  Status check_part(int layer, const KvSequence& cached, const NewTokens& tokens, int row, Part& part);
  Status check_elements(int layer, const HeadTensor& tensor, int row, float limit, Status refusal, float& largest);

  Status write(int layer, const SequenceRange& range, const NewTokens& tokens);
  Status reserve(int layer, KvSequence& cached, const NewTokens& tokens, const Part& part);
  Status write_tokens(int layer, KvSequence& cached, const NewTokens& tokens, int row);
  void write_piece(int layer, KvSequence& cached, const NewTokens& tokens, int row, int token, int count);
  void rotate_piece(Rope& rope, const KvSequence& cached, int slot, const HeadTensor& queries, int row, int token, int count,
                    bool has_rows);

  KvStorage& storage_;
  Buffer<Part> parts_;  // [sequences of the append]
};

}  // namespace ropewalk
