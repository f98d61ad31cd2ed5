// A sequence of a cache as bytes, piece by piece, so that saving takes no second copy in memory and restoring takes the one that stays.
//
// The header holds the geometry, and for rotated keys the plans that they are turned for: a cache with other ropes takes them all the same
// and turns them to its own. The content is the positions, [axes][tokens] f64, and for each layer keys and values,
// [kv_heads][written][row].
#pragma once

#include "base/image.h"
#include "cache/kv_cache.h"

namespace ropewalk {

// Goes over the memory of a sequence in the order of its image.
class KvContent {
 public:
  void begin(const KvGeometry& geometry, const KvSequence& sequence);
  // The next piece in one place; size 0 at the end.
  char* next(std::size_t& size);
  static double bytes(const KvGeometry& geometry, const KvSequence& sequence);

 private:
  const KvGeometry* geometry_ = nullptr;
  const KvSequence* sequence_ = nullptr;
  int axis_ = 0, layer_ = 0, part_ = 0, head_ = 0, page_ = 0;
};

class KvImageWriter {
 public:
  // Begins the image of a sequence, which must not change until all of it has been read.
  Status open(KvCache& cache, int sequence);
  double bytes() const { return bytes_; }
  // Writes the next `size` bytes of the image.
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
  // Begins to restore a sequence of `cache` from an image of `bytes` bytes. The cache changes in finish() only.
  Status open(KvCache& cache, int sequence, double bytes);
  // Takes the next bytes. Returns the first thing wrong with them.
  Status write(const void* source, std::size_t size);
  // Puts the restored sequence in place.
  Status finish();

 private:
  enum class Stage { start, header, content, trailer, done };

  Status take_start();
  Status take_header();
  Status take_trailer();
  Status next_piece();

  KvCache* cache_ = nullptr;
  int sequence_ = 0;
  double bytes_ = 0;
  Stage stage_ = Stage::start;
  ImageStart start_ = {};
  Buffer<char> header_;
  KvSequence held_;
  std::unique_ptr<FrequencyPlan[]> plans_;
  KvContent content_;
  char trailer_[kChecksumBytes] = {};
  char* piece_ = nullptr;  // where the next bytes go
  std::size_t piece_size_ = 0;
  Checksum checksum_;
};

}  // namespace ropewalk
