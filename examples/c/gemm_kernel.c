/* SPDX-License-Identifier: MIT */
#include "gemm_kernel.h"

#include <string.h>

enum { MAX_UNROLL = 8, MAX_BN = 128 };

/*
 * The innermost code, once for each width and unrolling: with both known to the compiler, the
 * loops over u and j become straight vector code. `a` holds rows of A with a stride of lda.
 */
#define DEFINE_TILE(bn, unroll)                                                                    \
  static void tile_##bn##_##unroll(size_t bk, const float *restrict a, size_t lda,                 \
                                   const float *restrict b, float *restrict acc) {                 \
    for (size_t k = 0; k < bk; k++) {                                                              \
      for (size_t u = 0; u < (unroll); u++) {                                                      \
        const float scale = a[u * lda + k];                                                        \
        for (size_t j = 0; j < (bn); j++) {                                                        \
          acc[u * (bn) + j] += scale * b[k * (bn) + j];                                            \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

#define FOR_EACH_UNROLL(X, bm, bk, bn)                                                             \
  X(bm, bk, bn, 1) X(bm, bk, bn, 2) X(bm, bk, bn, 4) X(bm, bk, bn, 8)

#define FOR_EACH_TILE(X, bm, bk)                                                                   \
  FOR_EACH_UNROLL(X, bm, bk, 32) FOR_EACH_UNROLL(X, bm, bk, 64) FOR_EACH_UNROLL(X, bm, bk, 128)

#define DEFINE(bm, bk, bn, unroll) DEFINE_TILE(bn, unroll)
FOR_EACH_TILE(DEFINE, 0, 0)

#define VARIANT(bm, bk, bn, unroll) {bm, bn, bk, unroll, tile_##bn##_##unroll},
static const struct gemm_variant variants[] = {
    FOR_EACH_TILE(VARIANT, 32, 32)  /* small blocks */
    FOR_EACH_TILE(VARIANT, 64, 128) /* larger ones */
    VARIANT(128, 128, 128, 8)       /* needs more scratch memory than gemm.c has */
};

size_t gemm_n_variants(void) {
  return sizeof(variants) / sizeof(variants[0]);
}

const struct gemm_variant *gemm_variant_at(size_t index) {
  return &variants[index];
}

size_t gemm_scratch_size(const struct gemm_variant *variant) {
  return (variant->bm * variant->bk + variant->bk * variant->bn) * sizeof(float);
}

static size_t smaller(size_t left, size_t right) {
  return left < right ? left : right;
}

/* Copies the part of a matrix at (row, column) into a dense block; what lies beyond the matrix
 * becomes zero, so that only the copies need to know about edges. */
static void pack(const float *matrix, size_t n_rows, size_t n_columns, size_t row, size_t column,
                 float *block, size_t block_rows, size_t block_columns) {
  const size_t width = smaller(block_columns, n_columns - column);
  for (size_t i = 0; i < block_rows; i++) {
    float *to = block + i * block_columns;
    const size_t copied = row + i < n_rows ? width : 0;
    if (copied > 0) {
      memcpy(to, matrix + (row + i) * n_columns + column, copied * sizeof(float));
    }
    memset(to + copied, 0, (block_columns - copied) * sizeof(float));
  }
}

/* Adds the sums of one tile to C at (row, column), as far as C reaches. */
static void add_to_c(const struct gemm_problem *problem, const struct gemm_variant *variant,
                     const float *acc, size_t row, size_t column) {
  const size_t height = smaller(variant->unroll, problem->m - row);
  const size_t width = smaller(variant->bn, problem->n - column);
  for (size_t i = 0; i < height; i++) {
    float *to = problem->c + (row + i) * problem->n + column;
    for (size_t j = 0; j < width; j++) {
      to[j] += acc[i * variant->bn + j];
    }
  }
}

static void multiply_blocks(const struct gemm_problem *problem, const struct gemm_variant *variant,
                            const float *a, const float *b, size_t row, size_t column) {
  const size_t rows = smaller(variant->bm, problem->m - row);
  for (size_t i = 0; i < rows; i += variant->unroll) {
    float acc[MAX_UNROLL * MAX_BN] = {0};
    variant->tile(variant->bk, a + i * variant->bk, variant->bk, b, acc);
    add_to_c(problem, variant, acc, row + i, column);
  }
}

void gemm_run(const struct gemm_variant *variant, const struct gemm_problem *problem,
              float *scratch) {
  float *a = scratch;
  float *b = scratch + variant->bm * variant->bk;
  memset(problem->c, 0, problem->m * problem->n * sizeof(float));
  for (size_t i = 0; i < problem->m; i += variant->bm) {
    for (size_t k = 0; k < problem->k; k += variant->bk) {
      pack(problem->a, problem->m, problem->k, i, k, a, variant->bm, variant->bk);
      for (size_t j = 0; j < problem->n; j += variant->bn) {
        pack(problem->b, problem->k, problem->n, k, j, b, variant->bk, variant->bn);
        multiply_blocks(problem, variant, a, b, i, j);
      }
    }
  }
}

void gemm_plain(const struct gemm_problem *problem) {
  for (size_t i = 0; i < problem->m; i++) {
    for (size_t j = 0; j < problem->n; j++) {
      double sum = 0;
      for (size_t k = 0; k < problem->k; k++) {
        sum += (double)problem->a[i * problem->k + k] * (double)problem->b[k * problem->n + j];
      }
      problem->c[i * problem->n + j] = (float)sum;
    }
  }
}
