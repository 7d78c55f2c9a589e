/* Start of the page: a flame graph (profile/page/graph.js), alone or with a heatmap or a timeline. */
const meta = json('meta');
unpack('stacks').then(reader => {
	const stacks = new Stacks(reader, !!(meta.heat || meta.timeline));
	if (meta.timeline) startTimeline(meta, stacks);
	else if (meta.heat) startHeat(meta, stacks);
	else startGraph(meta, stacks);
}).catch(error => {
	addNotice(`This browser cannot show the page: ${error.message}`);
	throw error;
});
