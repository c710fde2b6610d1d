// SPDX-License-Identifier: GPL-2.0
/* Random numbers that repeat: splitmix64, seeded by a number and a name. */
#include "soak.h"

uint64_t draw(struct prng *prng)
{
	uint64_t value = prng->state += 0x9e3779b97f4a7c15;

	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
	value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
	return value ^ (value >> 31);
}

struct prng prng_of(uint32_t seed, const char *name)
{
	struct prng prng = { .state = seed };

	for (; *name; name++)
		prng.state = draw(&prng) ^ (unsigned char)*name;
	return prng;
}

uint64_t below(struct prng *prng, uint64_t limit)
{
	return draw(prng) % limit;
}

uint64_t between(struct prng *prng, uint64_t min, uint64_t max)
{
	return min + below(prng, max - min + 1);
}
