/* Start of the page: a flame graph, or a heatmap with a flame graph. */
const meta = json('meta');
unpack('stacks').then(reader => {
	const stacks = new Stacks(reader, !!meta.heat);
	if (meta.heat) startHeat(meta, stacks);
	else startGraph(meta, stacks);
});
