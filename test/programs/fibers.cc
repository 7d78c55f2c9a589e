// Fibers of boost.context: each works in in_coroutine() for a while, and switches to the next one. Prints their
// results.
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace
{

constexpr int fibers = 64, turns = 100, rounds = 60000, stack_bytes = 16384;

using boost::context::fiber;

__attribute__((noinline)) std::uint64_t work(std::uint64_t sum)
{
	for (int i = 0; i < rounds; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	return sum;
}

} // namespace

__attribute__((noinline)) fiber in_coroutine(fiber &&back, std::uint64_t &sum)
{
	for (int turn = 0; turn < turns; turn++) {
		sum = work(sum);
		back = std::move(back).resume();
	}
	return std::move(back);
}

int main()
{
	std::vector<std::uint64_t> sums(fibers);
	std::vector<fiber> all;
	std::uint64_t total = 0;

	for (int i = 0; i < fibers; i++) {
		sums[i] = i;
		all.emplace_back(std::allocator_arg, boost::context::fixedsize_stack(stack_bytes),
				 [&sums, i](fiber &&back) {
					 return in_coroutine(std::move(back), sums[i]);
				 });
	}
	for (int turn = 0; turn <= turns; turn++)
		for (auto &one : all)
			one = std::move(one).resume();
	for (auto sum : sums)
		total += sum;
	std::printf("%016llx\n", (unsigned long long)total);
	return 5;
}
