/* SPDX-License-Identifier: MIT */
#ifndef GEMM_KERNEL_H
#define GEMM_KERNEL_H

#include <stddef.h>

/*
 * A blocked single-precision matrix product, C = A B, in many variants. Knows nothing of tuning:
 * a variant is an index below gemm_n_variants(). All matrices are dense and stored by rows.
 */
struct gemm_problem {
  size_t m, n, k; /* C is m x n, A is m x k, B is k x n */
  const float *a;
  const float *b;
  float *c;
};

struct gemm_variant {
  size_t bm, bn, bk; /* rows of A, columns of B and summands that are copied together */
  size_t unroll;     /* rows of C that the innermost code works on at once */
  /* Adds (unroll x bk) (bk x bn) to the tile `acc` of unroll x bn sums. */
  void (*tile)(size_t bk, const float *a, size_t lda, const float *b, float *acc);
};

size_t gemm_n_variants(void);

/* Variant `index`, which must be below gemm_n_variants(). */
const struct gemm_variant *gemm_variant_at(size_t index);

/* Bytes of scratch memory that gemm_run() needs: room for a block of A and one of B. */
size_t gemm_scratch_size(const struct gemm_variant *variant);

void gemm_run(const struct gemm_variant *variant, const struct gemm_problem *problem,
              float *scratch);

/* The same product by three plain loops, summed up in double precision: what to compare with. */
void gemm_plain(const struct gemm_problem *problem);

#endif
