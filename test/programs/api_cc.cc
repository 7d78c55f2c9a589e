// The agent's C interface in C++: an iteration of an event loop as a scope. An example, which test/system/api.sh
// runs.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <thread>

#include "preload/asprof_agent.h"

namespace
{

// One iteration, for every way out of the scope.
class Turn
{
      public:
	Turn()
	{
		ASPROF_AGENT_POLL_BEGIN();
	}
	~Turn()
	{
		ASPROF_AGENT_POLL_END();
	}
	Turn(const Turn &) = delete;
	Turn &operator=(const Turn &) = delete;
};

__attribute__((noinline)) void slow_turn()
{
	std::clock_t until = std::clock() + CLOCKS_PER_SEC / 5;

	while (std::clock() < until)
		;
	throw std::runtime_error("enough");
}

} // namespace

int main()
{
	if (!asprof_agent_running) {
		std::puts("no agent");
		return 0;
	}
	for (int i = 0; i < 3000 && !asprof_agent_running(); i++)
		std::this_thread::sleep_for(std::chrono::milliseconds(10));
	// From now on; earlier samples are reported without it.
	if (asprof_agent_set("TAGS", "color=red") || !asprof_agent_set("COLOR", "red")) {
		std::perror("set");
		return 1;
	}
	// Any thread may call it; an iteration belongs to the thread that marks it.
	std::thread([] {
		try {
			Turn turn;
			slow_turn();
		} catch (const std::runtime_error &) {
		}
	}).join();
	if (asprof_agent_flush()) {
		std::perror("flush");
		return 1;
	}
	std::puts("done");
}
