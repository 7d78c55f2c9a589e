// A server and its clients that an agent is put into while they run. They check the answers until the end of the input, and
// then print "ok".
const http = require('http');
const zlib = require('zlib');

let ended = false, mistakes = 0, clients = 8;
process.stdin.on('data', () => {}).on('end', () => { ended = true; });

function end() {
	if (--clients)
		return;
	console.log(mistakes ? 'bad' : 'ok');
	process.exit(mistakes ? 1 : 0);
}

const server = http.createServer((request, response) => {
	let sum = 0;
	for (let i = 0; i < 20000; i++)
		sum += i;
	zlib.deflate(String(sum), (error, data) => {
		if (error || zlib.inflateSync(data).toString() !== '199990000')
			mistakes++;
		setTimeout(() => response.end(String(sum)), 2);
	});
}).listen(0, '127.0.0.1', () => {
	function ask() {
		if (ended)
			return end();
		http.get({ host: '127.0.0.1', port: server.address().port }, (response) => {
			let text = '';
			response.on('data', (data) => { text += data; }).on('end', () => {
				if (text !== '199990000')
					mistakes++;
				ask();
			});
		}).on('error', () => { mistakes++; ask(); });
	}
	for (let i = 0; i < 8; i++)
		ask();
	console.log('ready');
});
