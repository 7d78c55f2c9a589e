/* Overhead budget: the sampling intervals at which sampling stays below a share of the program's CPU time. */
#include "core/agent/budget.h"

#include "core/units.h"

/* Samples may always use this much of one processor. */
#define FLOOR 0.001

/* Samples at the default intervals, or at longer ones, may use this much: profiles that users have without any setting are
 * not reduced in a service that mostly waits. */
#define DEFAULTS_FLOOR 0.005

static const uint64_t defaults[BUDGET_KINDS] = {
	[COST_CPU] = MS(100),
	[COST_WALL] = SECONDS(1),
	[COST_MEMORY] = KIB(512),
};

/* Samples cost up to a quarter more than is measured (test/bench/budget.sh): after one, the program finds other data in
 * the processor's caches. */
#define MEASURED_PART 0.8

/* The agent's own threads reduce the budget of samples by at most this part. */
#define FIXED_PART 0.5

/* Time constants, in seconds, of averages that forget exponentially. */
#define PROGRAM_TIME 5.0
#define PEAK_TIME    60.0
#define FIXED_TIME   30.0
#define RISE_TIME    0.25 /* of the cost of wall-clock and memory samples */
#define FALL_TIME    10.0

/* A CPU sample's average cost is over about so many samples, and is used from so many on. */
#define SAMPLES_MAX 200.0
#define SAMPLES_MIN 8.0

/* Few samples count at once if they cost more than this much of a processor. */
#define SIGNIFICANT 0.005

/* An interval is kept while the permitted one is at most this much shorter, unless that is the wanted one: a thread that
 * wakes rarely costs the same at many intervals. A new one has a margin. A shorter interval
 * follows the last change after this time. Each change ends a chunk, which costs. */
#define KEEP_BELOW 0.65
#define MARGIN     1.2
#define SHORTEN_NS SECONDS(30)

/* Limits of lengthened intervals; longer wanted intervals stay. */
static const uint64_t longest[BUDGET_KINDS] = {
	[COST_CPU] = SECONDS(10),
	[COST_WALL] = MINUTES(2),
	[COST_MEMORY] = GIB(1),
};

/* An interval of 0 bytes samples every allocation, as almost does one of few bytes. */
#define INTERVAL_MIN 64

static double interval_of(uint64_t interval)
{
	return interval < INTERVAL_MIN ? INTERVAL_MIN : (double)interval;
}

void budget_set_share(struct budget *budget, uint64_t permil)
{
	budget->share = permil == BUDGET_OFF ? 0 : (double)permil / 1000;
}

/* Move AVERAGE to VALUE, which was measured during ELAPSED, with time constant TIME, in seconds. */
static void average_move(double *average, double value, double elapsed, double time)
{
	*average += (value - *average) * elapsed / (elapsed + time);
}

static void measure_cpu(struct budget_kind *kind, const struct cost *cost)
{
	double samples = (double)cost->samples;

	if (!cost->samples)
		return;
	kind->evidence += samples;
	if (kind->evidence > SAMPLES_MAX + samples)
		kind->evidence = SAMPLES_MAX + samples;
	kind->unit += ((double)cost->ns / samples - kind->unit) * samples / kind->evidence;
}

static void measure_rate(struct budget_kind *kind, const struct cost *cost, double elapsed)
{
	double unit = (double)cost->ns / (elapsed * 1e9) * interval_of(kind->effective);

	/* The first samples may be slow. */
	bool is_significant = (double)cost->samples >= SAMPLES_MIN ||
			      (double)cost->ns > SIGNIFICANT * elapsed * 1e9;

	if (kind->effective == BUDGET_OFF)
		return;
	kind->evidence = SAMPLES_MIN; /* the average is cautious enough */
	average_move(&kind->unit, unit, elapsed,
		     unit > kind->unit && is_significant ? RISE_TIME : FALL_TIME);
}

/* Until so much time has passed, an average is that of all values. */
static double time_so_far(const struct budget *budget, double time)
{
	return budget->measured < time ? budget->measured : time;
}

void budget_measure(struct budget *budget, const struct budget_window *window)
{
	double elapsed = (double)window->elapsed_ns / 1e9;
	double program = (double)window->program_ns / (double)window->elapsed_ns,
	       fixed = (double)window->fixed_ns / (double)window->elapsed_ns;

	average_move(&budget->program, program, elapsed, time_so_far(budget, PROGRAM_TIME));
	average_move(&budget->program_peak, program, elapsed, time_so_far(budget, PEAK_TIME));
	if (program > budget->program_peak)
		budget->program_peak = program;
	average_move(&budget->fixed, fixed, elapsed, time_so_far(budget, FIXED_TIME));
	budget->measured += elapsed;
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		if (i == COST_CPU)
			measure_cpu(&budget->kinds[i], &window->kinds[i]);
		else
			measure_rate(&budget->kinds[i], &window->kinds[i], elapsed);
}

/* Cost of KIND at INTERVAL, in processors, while the program uses PROGRAM processors. */
static double cost_at(const struct budget *budget, unsigned kind, uint64_t interval, double program)
{
	const struct budget_kind *k = &budget->kinds[kind];

	if (interval == BUDGET_OFF || k->evidence < SAMPLES_MIN)
		return 0;
	return k->unit / interval_of(interval) * (kind == COST_CPU ? program : 1);
}

double budget_cost(const struct budget *budget, enum cost_kind kind, uint64_t interval)
{
	return cost_at(budget, kind, interval, budget->program);
}

/* Processors that samples may use while the program uses PROGRAM. */
static double limit_at(const struct budget *budget, double program)
{
	double all = budget->share * program * MEASURED_PART, fixed = budget->fixed;

	if (fixed > all * FIXED_PART)
		fixed = all * FIXED_PART;
	return all - fixed > FLOOR ? all - fixed : FLOOR;
}

/* Set the cost that each kind may have, if all together may have LIMIT: the same for all that must be reduced, else its own
 * cost and the rest. */
static void allow(const double costs[BUDGET_KINDS], double limit, double allowed[BUDGET_KINDS])
{
	bool fits[BUDGET_KINDS] = { false };
	unsigned others = BUDGET_KINDS;
	double rest = limit, level;

	/* Each pass removes the kinds that need less than their part of the rest. */
	for (unsigned pass = 0; pass < BUDGET_KINDS && others; pass++) {
		level = rest / others;
		for (unsigned i = 0; i < BUDGET_KINDS; i++)
			if (!fits[i] && costs[i] <= level) {
				fits[i] = true;
				rest -= costs[i];
				others--;
			}
	}
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		allowed[i] = others ? rest / others : costs[i] + rest;
}

/* Set the interval of each kind that LIMIT permits, which may be shorter than the wanted one. */
static void permit_within(const struct budget *budget, const double costs[BUDGET_KINDS],
			  double limit, double permitted[BUDGET_KINDS])
{
	double allowed[BUDGET_KINDS];

	allow(costs, limit, allowed);
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		permitted[i] =
			costs[i] > 0 ? interval_of(budget->kinds[i].wanted) * costs[i] / allowed[i]
				     : 0;
}

/* The same, with the higher limit of default intervals. */
static void permit_defaults(const struct budget *budget, const double costs[BUDGET_KINDS],
			    double limit, double permitted[BUDGET_KINDS])
{
	double longer[BUDGET_KINDS], by_default;

	permit_within(budget, costs, limit, permitted);
	permit_within(budget, costs, limit > DEFAULTS_FLOOR ? limit : DEFAULTS_FLOOR, longer);
	for (unsigned i = 0; i < BUDGET_KINDS; i++) {
		by_default = (double)defaults[i];
		if (permitted[i] > by_default)
			permitted[i] = longer[i] > by_default ? longer[i] : by_default;
	}
}

static void permit(const struct budget *budget, double permitted[BUDGET_KINDS])
{
	double costs[BUDGET_KINDS], at_peak[BUDGET_KINDS], peak = budget->program_peak;

	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		costs[i] = cost_at(budget, i, budget->kinds[i].wanted, budget->program);
	permit_defaults(budget, costs, limit_at(budget, budget->program), permitted);
	if (peak <= budget->program)
		return;
	/* The other kinds cost what they cost now. */
	for (unsigned i = 0; i < BUDGET_KINDS; i++)
		if (i != COST_CPU && permitted[i] > interval_of(budget->kinds[i].wanted))
			costs[i] *= interval_of(budget->kinds[i].wanted) / permitted[i];
	costs[COST_CPU] = cost_at(budget, COST_CPU, budget->kinds[COST_CPU].wanted, peak);
	permit_defaults(budget, costs, limit_at(budget, peak), at_peak);
	permitted[COST_CPU] = at_peak[COST_CPU];
}

/* Return the interval that replaces the effective one of KIND if PERMITTED is the shortest. */
static uint64_t settle(const struct budget_kind *kind, unsigned index, double permitted,
		       uint64_t now_ns)
{
	double current = interval_of(kind->effective), most = (double)longest[index], next;
	bool lengthens = permitted > current,
	     is_shorter =
		     permitted < current * KEEP_BELOW || permitted <= interval_of(kind->wanted),
	     shortens = is_shorter && kind->effective > kind->wanted &&
			now_ns >= kind->changed_ns + SHORTEN_NS;

	if (!lengthens && !shortens)
		return kind->effective;
	if (permitted <= interval_of(kind->wanted))
		return kind->wanted;
	next = permitted * MARGIN < most ? permitted * MARGIN : most;
	return next > (double)kind->wanted ? (uint64_t)next : kind->wanted;
}

static bool kind_plan(const struct budget *budget, struct budget_kind *kind, unsigned index,
		      double permitted, uint64_t now_ns)
{
	uint64_t next = budget->share > 0 ? settle(kind, index, permitted, now_ns) : kind->wanted;

	if (next == kind->effective)
		return false;
	kind->effective = next;
	kind->changed_ns = now_ns;
	return true;
}

bool budget_plan(struct budget *budget, uint64_t now_ns)
{
	double permitted[BUDGET_KINDS];
	bool changed = false;

	permit(budget, permitted);
	for (unsigned i = 0; i < BUDGET_KINDS; i++) {
		struct budget_kind *kind = &budget->kinds[i];

		if (kind->wanted != BUDGET_OFF)
			changed |= kind_plan(budget, kind, i, permitted[i], now_ns);
	}
	return changed;
}

void budget_want(struct budget *budget, enum cost_kind kind, uint64_t wanted)
{
	struct budget_kind *k = &budget->kinds[kind];
	double permitted[BUDGET_KINDS];

	if (wanted == k->wanted)
		return;
	k->wanted = k->effective = wanted;
	if (wanted == BUDGET_OFF)
		return;
	permit(budget, permitted);
	kind_plan(budget, k, kind, permitted[kind], k->changed_ns);
}
