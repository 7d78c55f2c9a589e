/* Uses SECONDS of CPU time, in two threads, with the additional stacks of C++: exceptions, virtual
 * and generic calls, inlined and split code. */
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile unsigned long sink;

struct shape {
	virtual ~shape() = default;
	virtual unsigned long area(int depth) const = 0;
};

struct square : shape {
	unsigned long area(int depth) const override
	{
		return depth ? area(depth - 1) + 1 : sink;
	}
};

__attribute__((noinline)) static void thrower(int depth)
{
	std::string text(static_cast<size_t>(depth), 'x');

	if (!depth)
		throw std::runtime_error("thrown");
	thrower(depth - 1);
	sink = sink + text.size();
}

static void collect(const std::function<unsigned long(unsigned long)> &step)
{
	std::map<std::string, std::vector<unsigned long>> table;
	std::ostringstream out;

	for (unsigned long i = 0; i < 300; i++)
		table[std::to_string(i % 17)].push_back(step(i));
	for (auto &row : table) {
		std::sort(row.second.begin(), row.second.end(),
			  [](unsigned long a, unsigned long b) { return a % 97 < b % 97; });
		out << row.first << ' ' << row.second.front() / 3.0;
	}
	sink = sink + out.str().size();
}

static void work(double seconds)
{
	const std::unique_ptr<shape> square_shape(new square);

	while (std::clock() < seconds * CLOCKS_PER_SEC) {
		collect([&](unsigned long n) { return n * 7919 % 2003 + square_shape->area(30); });
		try {
			thrower(20);
		} catch (const std::exception &error) {
			sink = sink + std::string(error.what()).size();
		}
	}
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
	std::thread other(work, seconds);

	work(seconds);
	other.join();
}
