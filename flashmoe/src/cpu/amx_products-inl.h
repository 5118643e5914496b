// SPDX-License-Identifier: MIT
// The two products of attention on tiles, each as a list of small steps, so that the caller can spread them
// over its vector work: the tile unit multiplies while the vector units exponentiate. A step multiplies two
// tiles by two, four independent sums in tiles 0 to 3; what two steps share (the sums) lies in those tiles,
// so steps of different products must not alternate before a sum is stored. Finish one product, then begin
// the next.
#pragma once

#include "cpu/amx_pack-inl.h"

namespace flashmoe::cpu::amx {
namespace {

constexpr int64_t kBlockChunks = kBlockKeys / kChunkKeys;
constexpr int64_t kPanelRows = 2 * kTileRows;

// S = Q K^T for one panel and the first `chunks` of a block. S: [row tile][key tile of the block] fp32 tiles.
template <class Tiles>
class ScoreProduct {
 public:
  ScoreProduct() = default;
  ScoreProduct(const std::byte* q, const std::byte* k, std::byte* s, int64_t depth, int64_t chunks,
               bool two_row_tiles)
      : q_(q), k_(k), s_(s), left_(chunks * depth), depth_(depth), two_(two_row_tiles) {}

  int64_t steps_left() const { return left_; }

  [[gnu::always_inline]] inline void step() {
    if (slice_ == 0) {
      Tiles::template zero<0>();
      Tiles::template zero<1>();
      Tiles::template zero<2>();
      Tiles::template zero<3>();
    }
    Tiles::template load<4>(q_ + slice_ * kTileBytes);
    Tiles::template load<6>(k_ + slice_ * kTileBytes);
    Tiles::template load<7>(k_ + (depth_ + slice_) * kTileBytes);
    Tiles::template multiply<0, 4, 6>();
    Tiles::template multiply<1, 4, 7>();
    if (two_) {
      Tiles::template load<5>(q_ + (depth_ + slice_) * kTileBytes);
      Tiles::template multiply<2, 5, 6>();
      Tiles::template multiply<3, 5, 7>();
    }
    --left_;
    if (++slice_ < depth_) return;
    Tiles::template store<0>(s_);
    Tiles::template store<1>(s_ + kTileBytes);
    if (two_) {
      Tiles::template store<2>(s_ + 2 * kBlockChunks * kTileBytes);
      Tiles::template store<3>(s_ + (2 * kBlockChunks + 1) * kTileBytes);
    }
    slice_ = 0;
    k_ += 2 * depth_ * kTileBytes;
    s_ += 2 * kTileBytes;
  }

 private:
  const std::byte* q_ = nullptr;
  const std::byte* k_ = nullptr;
  std::byte* s_ = nullptr;
  int64_t left_ = 0;
  int64_t depth_ = 0;
  int64_t slice_ = 0;
  bool two_ = false;
};

// O += P V for one panel and the first `chunks` of a block. P: [row tile][chunk of the block] bf16 tiles, O:
// [row tile][2 * depth] fp32 tiles; `fresh` means that O is not there yet and counts as zeros.
template <class Tiles>
class OutputProduct {
 public:
  OutputProduct() = default;
  OutputProduct(const std::byte* p, const std::byte* v, std::byte* o, int64_t depth, int64_t chunks,
                bool two_row_tiles, bool fresh)
      : p_(p),
        v_(v),
        o_(o),
        left_(chunks * depth),
        depth_(depth),
        chunks_(chunks),
        two_(two_row_tiles),
        fresh_(fresh) {}

  int64_t steps_left() const { return left_; }

  [[gnu::always_inline]] inline void step() {
    std::byte* o_second = o_ + 2 * depth_ * kTileBytes;
    if (chunk_ == 0) {
      if (fresh_) {
        Tiles::template zero<0>();
        Tiles::template zero<1>();
        Tiles::template zero<2>();
        Tiles::template zero<3>();
      } else {
        Tiles::template load<0>(o_);
        Tiles::template load<1>(o_ + kTileBytes);
        if (two_) {
          Tiles::template load<2>(o_second);
          Tiles::template load<3>(o_second + kTileBytes);
        }
      }
    }
    Tiles::template load<4>(p_ + chunk_ * kTileBytes);
    Tiles::template load<6>(v_ + chunk_ * 2 * depth_ * kTileBytes);
    Tiles::template load<7>(v_ + (chunk_ * 2 * depth_ + 1) * kTileBytes);
    Tiles::template multiply<0, 4, 6>();
    Tiles::template multiply<1, 4, 7>();
    if (two_) {
      Tiles::template load<5>(p_ + (kBlockChunks + chunk_) * kTileBytes);
      Tiles::template multiply<2, 5, 6>();
      Tiles::template multiply<3, 5, 7>();
    }
    --left_;
    if (++chunk_ < chunks_) return;
    Tiles::template store<0>(o_);
    Tiles::template store<1>(o_ + kTileBytes);
    if (two_) {
      Tiles::template store<2>(o_second);
      Tiles::template store<3>(o_second + kTileBytes);
    }
    chunk_ = 0;
    v_ += 2 * kTileBytes;
    o_ += 2 * kTileBytes;
  }

 private:
  const std::byte* p_ = nullptr;
  const std::byte* v_ = nullptr;
  std::byte* o_ = nullptr;
  int64_t left_ = 0;
  int64_t depth_ = 0;
  int64_t chunks_ = 0;
  int64_t chunk_ = 0;
  bool two_ = false;
  bool fresh_ = false;
};

template <class Product>
inline void finish(Product& product) {
  while (product.steps_left() > 0) product.step();
}

}  // namespace
}  // namespace flashmoe::cpu::amx
