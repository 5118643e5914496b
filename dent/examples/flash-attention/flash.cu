// SPDX-License-Identifier: MIT
// Attention in one pass over the keys, with the softmax kept up to date on the way (FlashAttention, Dao et
// al., 2022): fp32, plain CUDA, one head to each blockIdx.y.
//
//   S = scale q k^T    m: largest score so far    l: sum of exp(S - m)    O: sum of exp(S - m) v, divided by
//   l at the end
//
// A block has kQueries rows of q in shared memory, and takes the rows of k and v in tiles of kKeys. Four
// threads share a query: each has every fourth score of a tile, and every fourth column of O.
constexpr int kLanes = 4;

// Rows [first, first + kRows) of a head into shared memory; rows that are not there are 0.
template <int kRows, int kHeadDim>
__device__ void load_tile(float* tile, const float* head, int first, int rows) {
  for (int i = threadIdx.x; i < kRows * kHeadDim; i += blockDim.x) {
    const int row = i / kHeadDim, column = i % kHeadDim;
    const bool there = first + row < rows;
    tile[row * (kHeadDim + 1) + column] = there ? head[(first + row) * kHeadDim + column] : 0;
  }
}

template <int kHeadDim, int kQueries, int kKeys>
__global__ void flash_attention(const float* q, const float* k, const float* v, float* out, int S,
                                float scale) {
  constexpr int kPitch = kHeadDim + 1;  // rows begin in different banks
  constexpr int kOwnKeys = kKeys / kLanes, kOwnColumns = kHeadDim / kLanes;
  extern __shared__ float memory[];
  float* q_tile = memory;
  float* k_tile = q_tile + kQueries * kPitch;
  float* v_tile = k_tile + kKeys * kPitch;
  const long head = (long)blockIdx.y * S * kHeadDim;
  const int first = blockIdx.x * kQueries;
  const int query = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  load_tile<kQueries, kHeadDim>(q_tile, q + head, first, S);

  float m = -INFINITY, l = 0;
  float O[kOwnColumns] = {};
  for (int key = 0; key < S; key += kKeys) {
    __syncthreads();  // the tiles of the step before have been read
    load_tile<kKeys, kHeadDim>(k_tile, k + head, key, S);
    load_tile<kKeys, kHeadDim>(v_tile, v + head, key, S);
    __syncthreads();

    float P[kOwnKeys];
    float largest = m;
    for (int i = 0; i < kOwnKeys; ++i) {
      const int j = i * kLanes + lane;
      float dot = 0;
      for (int d = 0; d < kHeadDim; ++d) dot += q_tile[query * kPitch + d] * k_tile[j * kPitch + d];
      P[i] = key + j < S ? dot * scale : -INFINITY;
      largest = fmaxf(largest, P[i]);
    }
    // Over the four threads of the query: they are neighbours.
    for (int step = 1; step < kLanes; step *= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFu, largest, step));
    }
    const float correction = expf(m - largest);  // 0 in the first step, where m is -inf
    m = largest;
    l *= correction;
    for (int i = 0; i < kOwnColumns; ++i) O[i] *= correction;

    for (int i = 0; i < kOwnKeys; ++i) {
      P[i] = expf(P[i] - m);
      for (int owner = 0; owner < kLanes; ++owner) {
        const float p = __shfl_sync(0xFFFFFFFFu, P[i], owner, kLanes);
        const float* v_row = v_tile + (i * kLanes + owner) * kPitch;
        l += p;
        for (int c = 0; c < kOwnColumns; ++c) O[c] += p * v_row[c * kLanes + lane];
      }
    }
  }

  if (first + query >= S) return;
  for (int i = 0; i < kOwnColumns; ++i) {
    out[head + (first + query) * kHeadDim + i * kLanes + lane] = O[i] / l;
  }
}
