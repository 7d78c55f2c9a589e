/* Room for what is too large to be kept in memory. */
#ifndef DECODER_OUTPUT_TEMP_FILE_H
#define DECODER_OUTPUT_TEMP_FILE_H

/* A file without a name, to write and to read, which is gone when it is closed. A descriptor, or -1 with
 * errno. */
int temp_file_create(void);

#endif
