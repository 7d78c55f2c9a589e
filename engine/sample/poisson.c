/* Poisson sampling of amounts. The library depends on the C library only, so it does not use libm. */
#include "engine/sample/poisson.h"

/* -ln(u) for u in (0, 1]: the exponent separately, and for m in [1, 2) the series ln m = 2 (z +
 * z^3/3 + z^5/5 + …), z = (m - 1) / (m + 1) <= 1/3. */
static double minus_log(double u)
{
	union {
		double value;
		uint64_t bits;
	} m = { .value = u };
	int exponent = (int)(m.bits >> 52) - 1023;
	double z, square, sum = 0;

	m.bits = (m.bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
	z = (m.value - 1) / (m.value + 1);
	square = z * z;
	for (int k = 17; k >= 1; k -= 2)
		sum = sum * square + 1.0 / k;
	return -(exponent * 0.693147180559945309417 + 2 * z * sum);
}

uint64_t poisson_distance(uint64_t random, uint64_t interval)
{
	double u = (double)((random >> 11) + 1) * 0x1p-53;
	double distance = minus_log(u) * (double)interval;

	return distance < 0x1p63 ? (uint64_t)distance : INT64_MAX;
}

/* Taylor series of the argument, which is halved until it is small. Then 1 - exp(-2y) = q (2 - q) with q = 1 - exp(-y),
 * which keeps the precision for small arguments. */
double poisson_probability(double x)
{
	double term, sum = 0;
	int halved = 0;

	if (x > 40)
		return 1;
	for (; x > 0.25; halved++)
		x /= 2;
	term = x;
	for (int k = 2; k < 12; k++) {
		sum += term;
		term *= -x / k;
	}
	while (halved--)
		sum *= 2 - sum;
	return sum;
}
