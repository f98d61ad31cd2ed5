// Saves and restores a sequence of a cache as bytes (format: image.h). Both work piece by piece: saving needs no copy of the sequence, and
// restoring reads straight into new pages.
//
// The header has the geometry and, for rotated keys, the plans they are rotated by. A cache with other ropes re-rotates them to its own
// plans. The content is the positions, [axes][tokens] f64, then for each layer keys and values, [kv_heads][written][row]. Of q4_channel, a
// head's rows are its closed groups as they are (channel_group.h; values: rows of q4_0), then the rows of f16.
#pragma once

#include "base/image.h"
#include "cache/kv_cache.h"

namespace ropewalk {

// Walks over the memory of a sequence in the order of the image.
class KvContent {
 public:
  void begin(const KvGeometry& geometry, const KvSequence& sequence);
  // Returns the next contiguous piece. size is 0 at the end.
  char* next(std::size_t& size);
  // Size in bytes of all pieces.
  static double bytes(const KvGeometry& geometry, const KvSequence& sequence);

 private:
  const KvGeometry* geometry_ = nullptr;
  const KvSequence* sequence_ = nullptr;
  int axis_ = 0, layer_ = 0, part_ = 0, head_ = 0, page_ = 0;
};

class KvImageWriter {
 public:
  // Starts the image of a sequence. The sequence must not change until the whole image is read. Returns sequence_out_of_range,
  // out_of_memory or ok.
  Status open(KvCache& cache, int sequence);
  // Size in bytes of the whole image.
  double bytes() const { return bytes_; }
  // Copies the next `size` bytes of the image to `target`.
  void read(void* target, std::size_t size);

 private:
  KvContent content_;
  Buffer<char> header_;
  const char* piece_ = nullptr;
  std::size_t piece_size_ = 0;
  Checksum checksum_;
  char trailer_[kChecksumBytes] = {};
  bool has_trailer_ = false;
  double bytes_ = 0;
};

class KvImageReader {
 public:
  // Starts to restore a sequence of `cache` from an image of `bytes` bytes. The cache doesn't change before finish().
  Status open(KvCache& cache, int sequence, double bytes);
  // Reads the next bytes. Returns the first thing wrong with them.
  Status write(const void* source, std::size_t size);
  // Replaces the sequence with the restored one. On failure the cache is unchanged.
  Status finish();

 private:
  enum class Stage { start, header, content, trailer, done };

  Status read_start();
  Status read_header();
  Status read_trailer();
  Status next_piece();

  KvCache* cache_ = nullptr;
  int sequence_ = 0;
  double bytes_ = 0;
  Stage stage_ = Stage::start;
  ImageStart start_ = {};
  Buffer<char> header_;
  KvSequence restored_;
  std::unique_ptr<FrequencyPlan[]> plans_;
  KvContent content_;
  char trailer_[kChecksumBytes] = {};
  char* piece_ = nullptr;  // where the next bytes go
  std::size_t piece_size_ = 0;
  Checksum checksum_;
};

}  // namespace ropewalk
