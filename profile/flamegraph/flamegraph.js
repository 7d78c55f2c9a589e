/* Start of the flame graph page. */
const meta = json('meta');
unpack('stacks').then(reader => startGraph(meta, new Stacks(reader, false)));
