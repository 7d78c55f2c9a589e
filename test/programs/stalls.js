// COUNT requests to a server in this process, whose handler computes for 20 to 200 ms. Prints the microseconds of
// each. The first request is answered at once: first calls are slow, and are part of the iteration.
const http = require('http')
const count = Number(process.argv[2])

function burning(ms) {
	const end = process.hrtime.bigint() + BigInt(Math.round(ms * 1e6))
	while (process.hrtime.bigint() < end);
}

let served = -1
const server = http.createServer((request, response) => {
	const began = process.hrtime.bigint()
	burning(served < 0 ? 0 : 20 + 180 * served / Math.max(count - 1, 1))
	const us = Number((process.hrtime.bigint() - began) / 1000n)
	process.stdout.write(served++ < 0 ? '' : `${us} burning\n`)
	response.end('done')
})

function ask(left) {
	if (!left)
		return server.close()
	http.get({ port: server.address().port, host: '127.0.0.1', agent: false }, response => {
		response.resume()
		response.on('end', () => setTimeout(ask, 2, left - 1))
	})
}

server.listen(0, '127.0.0.1', () => setTimeout(ask, 500, count + 1))
