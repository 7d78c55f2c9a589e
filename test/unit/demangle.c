/* engine/symbols/demangle: names as async-profiler shows them, and malicious symbols. */
#include "engine/symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const char *symbol, *name; /* NULL: stays unchanged */
} cases[] = {
	{ "main", NULL },
	{ "", NULL },
	{ "_", NULL },
	{ "_Z", NULL },
	{ "_R", NULL },
	{ "_Zfoo", NULL },
	{ "_GLOBAL__sub_I_main", NULL },
	{ "_ZN3foo3barEi", "foo::bar" },
	{ "_ZNK3foo3barEi", "foo::bar" },
	{ "_ZNKR3Foo3barEv", "Foo::bar" },
	{ "_ZNO3Foo3barEv", "Foo::bar" },
	{ "_Z3foov.part.0", "foo" },
	{ "_Z3foov.constprop.0.isra.1", "foo" },
	{ "_Z3foov.__uniq.12ab", "foo" },
	{ "_Z4sortIiEvPT_S1_", "void sort<int>" },
	{ "_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo" },
	{ "_ZN12_GLOBAL__N_1L3fooE", "(anonymous namespace)::foo" },
	{ "_ZN3bar12_GLOBAL__N_1E", "bar::(anonymous namespace)" },
	{ "_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()" },
	{ "_ZN3fooclEv", "foo::operator()" },
	{ "_ZN3foocvbEv", "foo::operator bool" },
	{ "_ZN3FooD0Ev", "Foo::~Foo" },
	{ "_ZN3foo3barEPFivE", "foo::bar" },
	{ "_ZNSt8functionIFviEEclEi", "std::function<void (int)>::operator()" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back" },
	{ "_ZN5boost6system4callB5cxx11Ev", "boost::system::call[abi:cxx11]" },
	{ "_ZThn16_N3Foo3barEv", "non-virtual thunk to Foo::bar" },
	{ "_ZTV3Foo", "vtable for Foo" },
	/* Rust, older mangling: no hash; a symbol that only resembles it is C++. */
	{ "_ZN4core3fmt5write17h1a2b3c4d5e6f7081E", "core::fmt::write" },
	{ "_ZN4core3fmt5write17h1a2b3c4d5e6f7081E.llvm.1234567890", "core::fmt::write" },
	{ "_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone"
	  "17h1a2b3c4d5e6f7081E",
	  "<alloc::vec::Vec<T> as core::clone::Clone>::clone" },
	{ "_ZN4core3fmt5writeE17hxxxxxxxxxxxxxxxxE", NULL },
	/* Rust, version 0. */
	{ "_RNvNtNtCs2AlEmjWD6e9_4core3fmt3num5write", "core::fmt::num::write" },
	{ "_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>" },
	{ "_RNvC1a3bar.llvm.1234", "a::bar" },
	{ "_RNvNtCs1234_7mycrateu8gdel_5qa4main", "mycrate::g\xc3\xb6"
						  "del::main" },
};

START_TEST(table)
{
	struct demangler *demangler;
	const char *name;

	ck_assert_int_eq(demangler_open(&demangler), 0);
	name = demangle(demangler, cases[_i].symbol);
	if (cases[_i].name)
		ck_assert_str_eq(name, cases[_i].name);
	else
		ck_assert_ptr_null(name);
	demangler_close(demangler);
}
END_TEST

/* Each piece repeated, after a prefix that makes it a name. */
static const char *const pieces[] = {
	"P",  "A1_", "F",     "N",  "I",    "R",    "O",     "cl",       "ad",       "X", "M1a",
	"FP", "1AI", "dtcvi", "gs", "Dv4_", "Z1fv", "NvC1a", "INvC1a1b", "DNvC1a1b", "T", "Y",
};
static const char *const starts[] = { "_Z1f", "_ZN1aI", "_RINvC1a1b" };

START_TEST(deep_names_end)
{
	struct demangler *demangler;
	char symbol[6000];

	ck_assert_int_eq(demangler_open(&demangler), 0);
	for (size_t s = 0; s < sizeof(starts) / sizeof(*starts); s++) {
		for (size_t length = 100; length < 5000; length = length * 5 / 4) {
			strcpy(symbol, starts[s]);
			while (strlen(symbol) < length)
				strcat(symbol, pieces[_i]);
			demangle(demangler, symbol);
			strcat(symbol, "i"); /* turns many of them into a complete type */
			demangle(demangler, symbol);
		}
	}
	/* And it still works. */
	ck_assert_str_eq(demangle(demangler, "_ZN3foo3barEi"), "foo::bar");
	demangler_close(demangler);
}
END_TEST

START_TEST(exploding_names_end)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct demangler *demangler;
	char symbol[400] = "_Z1f1aIS_S_E";

	/* Each argument is twice as long as the previous one: 2^18 names when expanded. */
	for (int i = 0; i < 18; i++) {
		char piece[16] = "1aIS0_S0_E";

		piece[4] = piece[7] = digits[2 * i];
		strcat(symbol, piece);
	}
	ck_assert_int_eq(demangler_open(&demangler), 0);
	ck_assert_ptr_null(demangle(demangler, symbol));
	ck_assert_str_eq(demangle(demangler, "_ZN3foo3barEi"), "foo::bar");
	demangler_trim(demangler);
	ck_assert_str_eq(demangle(demangler, "_ZN3foo3barEi"), "foo::bar");
	demangler_close(demangler);
	demangler_close(NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_loop_test(tcase, table, 0, sizeof(cases) / sizeof(*cases));
	tcase_add_loop_test(tcase, deep_names_end, 0, sizeof(pieces) / sizeof(*pieces));
	tcase_add_test(tcase, exploding_names_end);
	return suite_run(tcase);
}
