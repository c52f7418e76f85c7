/*
 * book_impl.h - what book.c and book_read.c share: a book, and the names of its rows.
 */
#ifndef FW_TOOLS_RESERVE_BOOK_IMPL_H
#define FW_TOOLS_RESERVE_BOOK_IMPL_H

#include "tools/reserve/book.h"

#define FW_RESERVE_KIND "reservation"
#define FW_RESERVE_COUNTER "reservation-counter"
#define FW_RESERVE_LOG "reservation-log"
#define FW_RESERVE_LOG_FORM "%020llu"

enum { FW_RESERVE_LOG_KEY = 24, FW_RESERVE_JSON_BYTES = 512 * 1024 };

struct fw_reserve_book {
	int64_t (*now_ms)(void);
	struct fw_reserve_index *index;
	bool is_read;
	/* Of the counter, as the index knows it. Version 0: there is none. */
	int64_t number;
	uint64_t version;
	int64_t swept_ms; /* when expired reservations were removed from memory */
};

/* Brings the index up to date with the store. */
FW_NODISCARD fw_error *fw_reserve_refresh(struct fw_reserve_book *book, struct fw_store *store);
void fw_reserve_make_id(char ret_id[FW_RESERVE_ID_SIZE]);

#endif
