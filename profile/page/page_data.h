/* Compact binary data in a page: numbers and texts, gzipped, in base64. unpack(ID) in page.js
 * returns a reader of them. Write columns instead of rows: they compress better.
 *
 * The first error is kept, and returned by page_data_close(). */
#ifndef PROFILE_PAGE_PAGE_DATA_H
#define PROFILE_PAGE_PAGE_DATA_H

#include <stdint.h>
#include <stdio.h>

struct page_data;

/* Start an element ID in FILE. Returns 0 (release with page_data_close) or -ENOMEM. */
int page_data_open(struct page_data **out, FILE *file, const char *id);

/* Write a number: 7 bits a byte, the lowest first. JavaScript has only 53 bits: higher numbers
 * become 2^53-1. */
void page_data_number(struct page_data *data, uint64_t number);

/* Write a number that may be negative: 2n if it is not, -2n-1 if it is. */
void page_data_signed(struct page_data *data, int64_t number);

/* Write VALUE, rounded; 0 if it is negative or not a number. */
void page_data_value(struct page_data *data, double value);

/* Write the COUNT texts that TEXT_AT(ARG, i) returns. */
void page_data_texts(struct page_data *data, uint32_t count,
		     const char *(*text_at)(void *arg, uint32_t i), void *arg);

/* Write the element's end and free DATA. Returns 0 or -errno. */
int page_data_close(struct page_data *data);

#endif
