#include "cache/kv_image.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace ropewalk {
namespace {

// The parts of the header, in this order: one GeometryHeader, a LayerHeader for each layer, for q4_channel a GroupHeader for each layer, a
// PlanHeader for each rope. Sizes are multiples
// of 8, so that f64 stay aligned.
struct GeometryHeader {
  std::int32_t type, mode, axes, layers, ropes, tokens;
  float largest_key;
  std::int32_t reserved;
  double planned_length;  // of all ropes
};

struct LayerHeader {
  std::int32_t heads, head_dim, rope, written;  // a negative head_dim: no values of its own
};

struct GroupHeader {
  std::int32_t closed, has_first;
};

// Followed by inv_freq [pairs] f64, axis_of_pair [pairs] f64 and, with xPos, xpos_scale [pairs] f64.
struct PlanHeader {
  std::int32_t head_dim, rotary_dim, rotary_offset, pairing, precision, axes, has_xpos, reserved;
  double attention_factor, xpos_scale_base, xpos_center;
};

std::int32_t saved_head_dim(const KvGeometry::Layer& layer) { return layer.has_values() ? layer.head_dim : -layer.head_dim; }

std::size_t plan_bytes(std::size_t pairs, bool has_xpos) { return sizeof(PlanHeader) + (has_xpos ? 3 : 2) * pairs * sizeof(double); }

bool is_within(double value, double min, double max) { return value >= min && value <= max; }  // false for NaN

template <class T>
void put(char*& at, const T& value) {
  std::memcpy(at, &value, sizeof(T));
  at += sizeof(T);
}

template <class T>
T get(const char*& at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  at += sizeof(T);
  return value;
}

void put_plan(char*& at, const FrequencyPlan& plan) {
  const std::size_t pairs = plan.inv_freq.size();
  const bool has_xpos = !plan.xpos_scale.empty();
  put(at, PlanHeader{plan.head_dim, plan.rotary_dim, plan.rotary_offset, static_cast<std::int32_t>(plan.pairing),
                     static_cast<std::int32_t>(plan.precision), plan.axes, has_xpos, 0, plan.attention_factor, plan.xpos_scale_base,
                     plan.xpos_center});
  for (std::size_t j = 0; j < pairs; ++j) put(at, plan.inv_freq[j]);
  for (std::size_t j = 0; j < pairs; ++j) put(at, static_cast<double>(plan.axis_of_pair[j]));
  for (std::size_t j = 0; has_xpos && j < pairs; ++j) put(at, plan.xpos_scale[j]);
}

// Reads a plan that must have the geometry of `like`. `left` is the number of bytes that remain; it is updated.
Status get_plan(const char*& at, std::size_t& left, const FrequencyPlan& like, FrequencyPlan& plan) {
  if (left < sizeof(PlanHeader)) return Status::image_geometry;
  const PlanHeader header = get<PlanHeader>(at);
  const bool fits = header.head_dim == like.head_dim && header.rotary_dim == like.rotary_dim &&
                    header.rotary_offset == like.rotary_offset && header.pairing == static_cast<std::int32_t>(like.pairing) &&
                    header.axes == like.axes;
  const std::size_t pairs = like.inv_freq.size();
  if (!fits || left < plan_bytes(pairs, header.has_xpos != 0)) return Status::image_geometry;
  left -= plan_bytes(pairs, header.has_xpos != 0);
  if (!plan.inv_freq.resize(pairs) || !plan.axis_of_pair.resize(pairs) || (header.has_xpos != 0 && !plan.xpos_scale.resize(pairs))) {
    return Status::out_of_memory;
  }
  bool is_valid = is_within(header.attention_factor, 1e-30, 1e30) && header.precision >= 0 && header.precision <= 1 &&
                  (header.has_xpos == 0 || is_within(header.xpos_scale_base, 1e-3, 1e30)) &&
                  is_within(header.xpos_center, -kPositionLimit, kPositionLimit);
  for (std::size_t j = 0; j < pairs; ++j) is_valid = std::isfinite(plan.inv_freq[j] = get<double>(at)) && is_valid;
  for (std::size_t j = 0; j < pairs; ++j) {
    const double axis = get<double>(at);
    is_valid = axis == like.axis_of_pair[j] && is_valid;
    plan.axis_of_pair[j] = like.axis_of_pair[j];
  }
  for (std::size_t j = 0; header.has_xpos != 0 && j < pairs; ++j) {
    const double scale = plan.xpos_scale[j] = get<double>(at);
    is_valid = is_within(scale, 0.25, 1) && is_valid;  // plans/xpos.cpp: at least 2/7
  }
  plan.head_dim = like.head_dim;
  plan.rotary_dim = like.rotary_dim;
  plan.rotary_offset = like.rotary_offset;
  plan.pairing = like.pairing;
  plan.precision = static_cast<Precision>(header.precision);
  plan.axes = like.axes;
  plan.attention_factor = header.attention_factor;
  plan.xpos_scale_base = header.xpos_scale_base;
  plan.xpos_center = header.xpos_center;
  return is_valid ? Status::ok : Status::image_content;
}

}  // namespace

void KvContent::begin(const KvGeometry& geometry, const KvSequence& sequence) {
  geometry_ = &geometry;
  sequence_ = &sequence;
  axis_ = layer_ = part_ = head_ = page_ = 0;
}

char* KvContent::next(std::size_t& size) {
  size = 0;
  for (; axis_ < geometry_->axes(); ++axis_, page_ = 0) {
    const int tokens = std::min(kBlockTokens, sequence_->tokens() - page_ * kBlockTokens);
    if (tokens <= 0) continue;
    size = tokens * sizeof(double);
    return reinterpret_cast<char*>(sequence_->page_positions(page_++) + axis_ * kBlockTokens);
  }
  for (; layer_ < geometry_->layers(); ++layer_, part_ = 0) {
    const KvGeometry::Layer& layer = geometry_->layer(layer_);
    for (; part_ < layer.parts(); ++part_, head_ = 0) {
      for (; head_ < layer.heads; ++head_, page_ = 0) {
        const int tokens = std::min(kBlockTokens, sequence_->written(layer_) - page_ * kBlockTokens);
        if (tokens <= 0) continue;
        if (page_ < sequence_->closed(layer_)) {
          const int page = page_++;
          size = layer.closed_bytes(part_, sequence_->is_first(page));
          return sequence_->closed_page(page) + layer.closed_offset(part_, head_, sequence_->is_first(page));
        }
        size = tokens * layer.row_bytes;
        return sequence_->page(page_++) + layer.part_offset(part_) + layer.row(head_, 0);
      }
    }
  }
  return nullptr;
}

double KvContent::bytes(const KvGeometry& geometry, const KvSequence& sequence) {
  double bytes = static_cast<double>(sizeof(double)) * geometry.axes() * sequence.tokens();
  for (int index = 0; index < geometry.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry.layer(index);
    const int closed = sequence.closed(index), open = sequence.written(index) - closed * kBlockTokens;
    for (int part = 0; part < layer.parts(); ++part) {
      bytes += static_cast<double>(layer.heads) * open * static_cast<double>(layer.row_bytes);
      for (int page = 0; page < std::min(closed, 2); ++page) {  // the first, and the others
        const int pages = page == 0 ? 1 : closed - 1;
        bytes += static_cast<double>(layer.heads) * pages * static_cast<double>(layer.closed_bytes(part, sequence.is_first(page)));
      }
    }
  }
  return bytes;
}

Status KvImageWriter::open(KvCache& cache, int sequence) {
  if (sequence < 0 || sequence >= cache.sequences()) return Status::sequence_out_of_range;
  const KvGeometry& geometry = cache.geometry();
  const KvSequence& cached = cache.sequence(sequence);
  const int plans = cache.mode() == KeyMode::rotated ? cache.ropes() : 0;

  std::unique_ptr<FrequencyPlan[]> saved(new (std::nothrow) FrequencyPlan[std::max(1, plans)]);
  if (saved == nullptr) return Status::out_of_memory;
  const int group_headers = geometry.closes_groups() ? geometry.layers() : 0;
  std::uint64_t header_bytes =
      sizeof(GeometryHeader) + std::uint64_t{sizeof(LayerHeader)} * geometry.layers() + std::uint64_t{sizeof(GroupHeader)} * group_headers;
  for (int rope = 0; rope < plans; ++rope) {
    if (const Status status = make_plan(cache.rope_config(rope), cached.planned_length(rope), saved[rope]); status != Status::ok)
      return status;
    header_bytes += plan_bytes(saved[rope].inv_freq.size(), !saved[rope].xpos_scale.empty());
  }
  if (!header_.resize(sizeof(ImageStart) + header_bytes)) return Status::out_of_memory;

  const double content_bytes = KvContent::bytes(geometry, cached);
  char* at = header_.data();
  const ImageStart start = image_start(ImageKind::kv_cache, header_bytes, content_bytes);
  put(at, start);
  double planned_length = 1;  // the same for all ropes, unless an append ran out of memory half-way
  for (int rope = 0; rope < cache.ropes(); ++rope) planned_length = std::max(planned_length, cached.planned_length(rope));
  put(at, GeometryHeader{static_cast<std::int32_t>(geometry.cache_type()), static_cast<std::int32_t>(cache.mode()), geometry.axes(),
                         geometry.layers(), plans, cached.tokens(), cached.largest_key(), 0, planned_length});
  for (int index = 0; index < geometry.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry.layer(index);
    put(at, LayerHeader{layer.heads, saved_head_dim(layer), layer.rope, cached.written(index)});
  }
  for (int index = 0; index < group_headers; ++index) put(at, GroupHeader{cached.closed(index), cached.has_first()});
  for (int rope = 0; rope < plans; ++rope) put_plan(at, saved[rope]);

  content_.begin(geometry, cached);
  piece_ = header_.data();
  piece_size_ = header_.size();
  checksum_ = {};
  has_trailer_ = false;
  bytes_ = start.total_bytes;
  return Status::ok;
}

void KvImageWriter::read(void* target, std::size_t size) {
  char* to = static_cast<char*>(target);
  while (size > 0) {
    if (piece_size_ == 0) {
      piece_ = content_.next(piece_size_);
      if (piece_size_ == 0) {
        if (has_trailer_) return;
        const std::uint32_t sum = checksum_.value();
        std::memcpy(trailer_, &sum, sizeof(sum));
        piece_ = trailer_;
        piece_size_ = sizeof(trailer_);
        has_trailer_ = true;
      }
    }
    const std::size_t step = std::min(size, piece_size_);
    std::memcpy(to, piece_, step);
    checksum_.add(piece_, step);
    piece_ += step;
    piece_size_ -= step;
    to += step;
    size -= step;
  }
}

Status KvImageReader::open(KvCache& cache, int sequence, double bytes) {
  if (sequence < 0 || sequence >= cache.sequences()) return Status::sequence_out_of_range;
  cache_ = &cache;
  sequence_ = sequence;
  bytes_ = bytes;
  stage_ = Stage::start;
  restored_ = {};
  checksum_ = {};
  piece_ = reinterpret_cast<char*>(&start_);
  piece_size_ = sizeof(start_);
  return Status::ok;
}

Status KvImageReader::write(const void* source, std::size_t size) {
  const char* from = static_cast<const char*>(source);
  while (size > 0) {
    if (stage_ == Stage::done) return Status::image_content;  // bytes after the end
    const std::size_t step = std::min(size, piece_size_);
    std::memcpy(piece_, from, step);
    if (stage_ != Stage::trailer) checksum_.add(from, step);
    piece_ += step;
    piece_size_ -= step;
    from += step;
    size -= step;
    while (piece_size_ == 0 && stage_ != Stage::done) {
      if (const Status status = next_piece(); status != Status::ok) return status;
    }
  }
  return Status::ok;
}

// Called when a piece is complete: processes it, and sets where the next bytes go.
Status KvImageReader::next_piece() {
  switch (stage_) {
    case Stage::start: return read_start();
    case Stage::header: {
      if (const Status status = read_header(); status != Status::ok) return status;
      stage_ = Stage::content;
      content_.begin(cache_->geometry(), restored_);
      return Status::ok;
    }
    case Stage::content: {
      piece_ = content_.next(piece_size_);
      if (piece_size_ > 0) return Status::ok;
      stage_ = Stage::trailer;
      piece_ = trailer_;
      piece_size_ = sizeof(trailer_);
      return Status::ok;
    }
    case Stage::trailer: return read_trailer();
    case Stage::done: return Status::ok;
  }
  return Status::ok;
}

Status KvImageReader::read_start() {
  if (const Status status = check_start(start_, ImageKind::kv_cache, bytes_); status != Status::ok) return status;
  if (start_.header_bytes < sizeof(GeometryHeader) || start_.header_bytes > bytes_) return Status::image_content;
  if (!header_.resize(start_.header_bytes)) return Status::out_of_memory;
  stage_ = Stage::header;
  piece_ = header_.data();
  piece_size_ = header_.size();
  return Status::ok;
}

Status KvImageReader::read_header() {
  const KvGeometry& geometry = cache_->geometry();
  const char* at = header_.data();
  const GeometryHeader header = get<GeometryHeader>(at);
  const int plans = cache_->mode() == KeyMode::rotated ? cache_->ropes() : 0;
  const bool fits = header.type == static_cast<std::int32_t>(geometry.cache_type()) &&
                    header.mode == static_cast<std::int32_t>(cache_->mode()) && header.axes == geometry.axes() &&
                    header.layers == geometry.layers() && header.ropes == plans;
  const int group_headers = geometry.closes_groups() ? geometry.layers() : 0;
  const std::size_t layers_end = sizeof(GeometryHeader) + sizeof(LayerHeader) * geometry.layers() + sizeof(GroupHeader) * group_headers;
  if (!fits || header_.size() < layers_end) return Status::image_geometry;
  if (header.tokens < 0 || !is_within(header.largest_key, 0, largest_storable(geometry.type()))) return Status::image_content;
  if (!is_within(header.planned_length, 1, kPositionLimit)) return Status::image_content;

  if (const Status status = restored_.prepare(geometry, cache_->ropes()); status != Status::ok) return status;
  for (int index = 0; index < geometry.layers(); ++index) {
    const KvGeometry::Layer& layer = geometry.layer(index);
    const LayerHeader saved = get<LayerHeader>(at);
    if (saved.heads != layer.heads || saved.head_dim != saved_head_dim(layer) || saved.rope != layer.rope) return Status::image_geometry;
    if (saved.written < 0 || saved.written > header.tokens) return Status::image_content;
    restored_.note_written(index, saved.written);
  }
  int closed_in_any = 0;
  for (int index = 0; index < group_headers; ++index) {
    const GroupHeader saved = get<GroupHeader>(at);
    if (saved.closed < 0 || saved.closed > restored_.written(index) / kBlockTokens) return Status::image_content;
    if (saved.has_first != 0 && saved.has_first != 1) return Status::image_content;
    restored_.note_first(saved.has_first != 0);
    restored_.note_closed(index, saved.closed);
    closed_in_any = std::max(closed_in_any, saved.closed);
  }
  std::size_t left = header_.size() - layers_end;
  plans_.reset(new (std::nothrow) FrequencyPlan[std::max(1, plans)]);
  if (plans_ == nullptr) return Status::out_of_memory;
  for (int rope = 0; rope < plans; ++rope) {
    FrequencyPlan like;
    if (const Status status = make_plan(cache_->rope_config(rope), 1, like); status != Status::ok) return status;
    if (const Status status = get_plan(at, left, like, plans_[rope]); status != Status::ok) return status;
  }
  if (left != 0) return Status::image_geometry;
  for (int rope = 0; rope < cache_->ropes(); ++rope) restored_.set_planned_length(rope, header.planned_length);
  restored_.note_key(header.largest_key);
  restored_.adopt_tokens(header.tokens);
  const double expected_bytes = image_start(ImageKind::kv_cache, header_.size(), KvContent::bytes(geometry, restored_)).total_bytes;
  if (expected_bytes != bytes_) return Status::image_content;  // before memory is allocated for tokens that aren't there
  if (header.tokens > cache_->max_tokens()) return Status::image_too_many_tokens;
  if (const Status status = restored_.reserve(header.tokens, restored_.closed_in_all()); status != Status::ok) return status;
  return group_headers > 0 ? restored_.reserve_closed(closed_in_any) : Status::ok;
}

Status KvImageReader::read_trailer() {
  std::uint32_t sum;
  std::memcpy(&sum, trailer_, sizeof(sum));
  if (sum != checksum_.value()) return Status::image_checksum;
  stage_ = Stage::done;
  return Status::ok;
}

Status KvImageReader::finish() {
  if (stage_ != Stage::done || cache_ == nullptr) return Status::image_too_short;
  restored_.find_largest_position();
  if (cache_->geometry().closes_groups()) restored_.copy_positions(0);
  const Status status = std::exchange(cache_, nullptr)->adopt(sequence_, std::move(restored_), plans_.get());
  restored_ = {};  // frees the replaced sequence, or the rejected one
  const bool misfits = status == Status::position_out_of_range || status == Status::key_not_finite || status == Status::plans_differ;
  return misfits ? Status::image_misfit : status;
}

}  // namespace ropewalk
