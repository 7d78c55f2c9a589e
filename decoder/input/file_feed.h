/* Feed of the command's input files: recordings, zips (recognized by content), directories, standard input, buckets.
 * Opens one file after the other, maps it, and returns its chunks. Unreadable files are skipped after a message. */
#ifndef DECODER_INPUT_FILE_FEED_H
#define DECODER_INPUT_FILE_FEED_H

#include "decoder/input/selection.h"
#include "profile/aggregate/feed.h"

/* Open a feed of the recordings at PATHS that SELECTION matches (NULL: all). PATHS and SELECTION must outlive the feed.
 * Returns 0 (release with file_feed_close) or -ENOMEM. */
int file_feed_open(struct feed **out, const struct selection *selection, char **paths, int count);

/* Returns the labels of an excluded recording, each followed by a space, or NULL. NUMBER counts from 0;
 * only the first few are stored. Call after all chunks are read. */
const char *file_feed_excluded_labels(const struct feed *feed, unsigned number);

/* NULL is fine. */
void file_feed_close(struct feed *feed);

#endif
