/* A feed of files: recordings, zips (told by content), directories, standard input. It opens one
 * after another, maps it, and hands out its chunks. What cannot be read is said on stderr, with the
 * offset, and passed over. */
#ifndef DECODER_INPUT_FILE_FEED_H
#define DECODER_INPUT_FILE_FEED_H

#include "decoder/input/selection.h"
#include "profile/aggregate/feed.h"

/* Of what PATHS name, those that SELECTION wants (NULL: all). Both stay the caller's for the feed's
 * life. Returns 0 (release with file_feed_close) or -ENOMEM. */
int file_feed_open(struct feed **out, const struct selection *selection, char **paths, int count);

/* A recording that was left out: of the first few, its labels, each followed by a space; NULL when
 * there is none of that number. Once all is read. */
const char *file_feed_excluded_labels(const struct feed *feed, unsigned number);

/* NULL is fine. */
void file_feed_close(struct feed *feed);

#endif
