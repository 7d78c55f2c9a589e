/* Records with a length and a checksum each. */
#include "engine/jfr/journal.h"

#include <errno.h>
#include <string.h>

struct head {
	uint32_t check; /* of all that follows */
	uint32_t length;
	uint8_t kind, writer;
	uint16_t unused;
};

/* FNV-1a. It tells a record that was torn from one that was not; no more is asked of it. */
static uint32_t checksum(uint32_t hash, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash;
}

static uint32_t check_of(const struct head *head, const void *data)
{
	uint32_t hash = checksum(2166136261u, (const uint8_t *)head + sizeof(head->check),
				 sizeof(*head) - sizeof(head->check));

	return checksum(hash, data, head->length);
}

size_t journal_put_begin(struct buf *out)
{
	size_t begun = out->length;

	/* Where there is no room for it, there is none in journal_put_end() either. */
	if (!buf_reserve(out, sizeof(struct head)))
		out->length += sizeof(struct head);
	return begun;
}

int journal_put_end(struct buf *out, size_t begun, enum journal_kind kind, uint8_t writer, int err)
{
	struct head head = { .kind = (uint8_t)kind, .writer = writer };
	size_t length = out->length - begun;

	if (!err && length < sizeof(head))
		err = -ENOMEM;
	if (!err && length - sizeof(head) > JOURNAL_RECORD_MAX)
		err = -EFBIG;
	if (err) {
		out->length = begun;
		return err;
	}
	head.length = (uint32_t)(length - sizeof(head));
	head.check = check_of(&head, out->data + begun + sizeof(head));
	memcpy(out->data + begun, &head, sizeof(head));
	return 0;
}

int journal_put(struct buf *out, enum journal_kind kind, uint8_t writer, const void *data,
		size_t length)
{
	size_t begun = journal_put_begin(out);

	return journal_put_end(out, begun, kind, writer, buf_append(out, data, length));
}

int journal_next(const uint8_t *data, size_t length, size_t *at, struct journal_record *record)
{
	struct head head;

	if (*at > length || length - *at < sizeof(head))
		return 0;
	memcpy(&head, data + *at, sizeof(head));
	if (head.length > JOURNAL_RECORD_MAX || head.length > length - *at - sizeof(head) ||
	    head.check != check_of(&head, data + *at + sizeof(head)))
		return 0;
	*record = (struct journal_record){ .kind = (enum journal_kind)head.kind,
					   .writer = head.writer,
					   .length = head.length,
					   .data = data + *at + sizeof(head) };
	*at += sizeof(head) + head.length;
	return 1;
}
