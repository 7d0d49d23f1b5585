#pragma once
// Rows of a table.

#include <cstdint>

namespace temper::policy::cpu {

// y [rows, width] = table[ids].
template <class T>
void embedding(const T* table, const int32_t* ids, int64_t rows, int64_t width, T* y);

// d_table[ids[r]] += dy[r], rows in order: the same bits for any number of threads.
template <class T>
void embedding_backward(const T* dy, const int32_t* ids, int64_t rows, int64_t width, T* d_table);

}  // namespace temper::policy::cpu
