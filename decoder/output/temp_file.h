/* Unnamed temporary files, for data that is too large for memory. */
#ifndef DECODER_OUTPUT_TEMP_FILE_H
#define DECODER_OUTPUT_TEMP_FILE_H

/* Create an unnamed file, open for reading and writing. It is deleted when it is closed.
 * Returns a descriptor, or -1 with errno. */
int temp_file_create(void);

#endif
