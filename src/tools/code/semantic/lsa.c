/*
 * lsa.c - see lsa.h.
 *
 * A round multiplies the basis V by AᵀA, which turns it towards the largest singular vectors,
 * and makes it orthonormal again, by the Cholesky factor of VᵀV: two passes over V
 * instead of the many of Gram-Schmidt.
 */
#include "tools/code/semantic/lsa.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "tools/code/semantic/vector.h"
#include "tools/common/crew.h"

#include <faultwire/raise.h>

enum { SHARES = 64, GROUP = 16 };

struct work {
	const struct fw_semantic_matrix *matrix;
	size_t dims;
	unsigned threads;
	float *basis;  /* columns x dims */
	float *next;   /* the same, for each thread */
	float *row;    /* dims, for each thread */
	double *gram;  /* dims x dims, for each thread */
	float *factor; /* dims x dims: the inverse of the Cholesky factor */
};

/* xorshift: any numbers will do, if they are the same every time. */
static float random_number(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return (float)(int32_t)*state / 2147483648.0F;
}

static void range_of(size_t count, size_t item, size_t *ret_from, size_t *ret_to)
{
	*ret_from = count * item / SHARES;
	*ret_to = count * (item + 1) / SHARES;
}

/* next += Aᵀ(A V), for some of the rows of A. */
static fw_error *multiply(void *ctx, unsigned thread, size_t item)
{
	const struct work *w = ctx;
	const struct fw_semantic_matrix *m = w->matrix;
	float *row = w->row + thread * w->dims;
	float *next = w->next + thread * m->columns * w->dims;
	size_t from, to;

	range_of(m->rows, item, &from, &to);
	for (size_t i = from; i < to; i++) {
		memset(row, 0, w->dims * sizeof *row);
		for (size_t j = m->start[i]; j < m->start[i + 1]; j++)
			fw_semantic_axpy(row, w->basis + m->column[j] * w->dims, m->value[j],
					 w->dims);
		for (size_t j = m->start[i]; j < m->start[i + 1]; j++)
			fw_semantic_axpy(next + m->column[j] * w->dims, row, m->value[j],
					 w->dims);
	}
	return NULL;
}

/* The upper half of VᵀV, for some of the rows of V; sums of a few rows in float, which is
 * quick, and of those in double. */
static fw_error *square(void *ctx, unsigned thread, size_t item)
{
	const struct work *w = ctx;
	double *gram = w->gram + thread * w->dims * w->dims;
	float sums[FW_SEMANTIC_LSA_DIMS];
	size_t from, to;

	range_of(w->matrix->columns, item, &from, &to);
	for (size_t group = from; group < to; group += GROUP) {
		size_t end = group + GROUP < to ? group + GROUP : to;

		for (size_t a = 0; a < w->dims; a++) {
			memset(sums + a, 0, (w->dims - a) * sizeof *sums);
			for (size_t i = group; i < end; i++) {
				const float *v = w->basis + i * w->dims;

				if (v[a] != 0)
					fw_semantic_axpy(sums + a, v + a, v[a], w->dims - a);
			}
			for (size_t b = a; b < w->dims; b++)
				gram[a * w->dims + b] += (double)sums[b];
		}
	}
	return NULL;
}

/* V = V R, for some of the rows of V. */
static fw_error *turn(void *ctx, unsigned thread, size_t item)
{
	const struct work *w = ctx;
	float *row = w->row + thread * w->dims;
	size_t from, to;

	range_of(w->matrix->columns, item, &from, &to);
	for (size_t i = from; i < to; i++) {
		float *v = w->basis + i * w->dims;

		memset(row, 0, w->dims * sizeof *row);
		for (size_t a = 0; a < w->dims; a++)
			fw_semantic_axpy(row + a, w->factor + a * w->dims + a, v[a],
					 w->dims - a);
		memcpy(v, row, w->dims * sizeof *row);
	}
	return NULL;
}

static fw_error *share(struct work *w, fw_error *(*step)(void *, unsigned, size_t))
{
	const struct fw_crew crew = { step, w, SHARES, w->threads };

	return fw_crew_run(&crew);
}

/* G = LLᵀ in place (the upper half holds Lᵀ); directions without length are dropped. */
static void factorize(double *g, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		double most = g[k * n + k];
		double pivot = most > 1e-12 ? sqrt(most) : 0;

		g[k * n + k] = pivot;
		for (size_t j = k + 1; j < n; j++)
			g[k * n + j] = pivot > 0 ? g[k * n + j] / pivot : 0;
		for (size_t i = k + 1; i < n; i++)
			for (size_t j = i; j < n; j++)
				g[i * n + j] -= g[k * n + i] * g[k * n + j];
	}
}

/* The inverse of the upper triangle. */
static void invert(const double *upper, size_t n, float *ret_inverse)
{
	double column[FW_SEMANTIC_LSA_DIMS];

	memset(ret_inverse, 0, n * n * sizeof *ret_inverse);
	for (size_t j = 0; j < n; j++) {
		if (!(upper[j * n + j] > 0))
			continue;
		memset(column, 0, n * sizeof *column);
		column[j] = 1 / upper[j * n + j];
		for (size_t i = j; i-- > 0;) {
			double sum = 0;

			for (size_t k = i + 1; k <= j; k++)
				sum -= upper[i * n + k] * column[k];
			column[i] = upper[i * n + i] > 0 ? sum / upper[i * n + i] : 0;
		}
		for (size_t i = 0; i <= j; i++)
			ret_inverse[i * n + j] = (float)column[i];
	}
}

static fw_error *orthonormalize(struct work *w)
{
	size_t size = w->dims * w->dims;

	memset(w->gram, 0, w->threads * size * sizeof *w->gram);
	FW_TRY(share(w, square));
	for (unsigned i = 1; i < w->threads; i++)
		for (size_t j = 0; j < size; j++)
			w->gram[j] += w->gram[i * size + j];
	factorize(w->gram, w->dims);
	invert(w->gram, w->dims, w->factor);
	return share(w, turn);
}

static fw_error *iterate(struct work *w)
{
	size_t size = w->matrix->columns * w->dims;

	memset(w->next, 0, w->threads * size * sizeof *w->next);
	FW_TRY(share(w, multiply));
	memcpy(w->basis, w->next, size * sizeof *w->basis);
	for (unsigned i = 1; i < w->threads; i++)
		fw_semantic_axpy(w->basis, w->next + i * size, 1, size);
	return orthonormalize(w);
}

static fw_error *run(struct work *w, bool (*is_cancelled)(void *ctx), void *ctx)
{
	size_t size = w->matrix->columns * w->dims;
	uint32_t state = 2463534242u;

	for (size_t i = 0; i < size; i++)
		w->basis[i] = random_number(&state);
	for (int round = 0; round < FW_SEMANTIC_LSA_ROUNDS; round++) {
		if (is_cancelled && is_cancelled(ctx))
			return NULL;
		FW_TRY(iterate(w));
	}
	/* What rounding has left of the first pass. */
	return orthonormalize(w);
}

fw_error *fw_semantic_lsa(const struct fw_semantic_matrix *matrix, size_t dims,
			  unsigned threads, bool (*is_cancelled)(void *ctx), void *ctx,
			  float *ret_basis)
{
	struct work w = {
		.matrix = matrix, .dims = dims, .threads = threads, .basis = ret_basis
	};
	fw_error *err = NULL;

	w.next = fw__allocate(threads * matrix->columns * dims * sizeof *w.next);
	w.row = fw__allocate(threads * dims * sizeof *w.row);
	w.gram = fw__allocate(threads * dims * dims * sizeof *w.gram);
	w.factor = fw__allocate(dims * dims * sizeof *w.factor);
	if (w.next && w.row && w.gram && w.factor)
		err = run(&w, is_cancelled, ctx);
	else
		err = fw_raise_internal_out_of_memory();
	fw__release(w.next);
	fw__release(w.row);
	fw__release(w.gram);
	fw__release(w.factor);
	return err;
}
