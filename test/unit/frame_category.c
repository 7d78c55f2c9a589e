/* profile/aggregate/frame_category: the category of a function. */
#include "profile/aggregate/frame_category.h"

#include "test/fixtures/suite.h"

static const struct {
	const char *library, *name;
	enum frame_category category;
} natives[] = {
	{ "service", "main", FRAME_OWN },
	{ "service", "_start", FRAME_LIBRARY },
	{ "node_exporter", "f", FRAME_OWN },
	{ "java-service", "f", FRAME_OWN },
	{ "libc.so.6", "qsort", FRAME_LIBRARY },
	{ "/usr/lib/x86_64-linux-gnu/libssl.so", "f", FRAME_LIBRARY },
	{ "ld-linux-x86-64.so.2", "f", FRAME_LIBRARY },
	{ "vdso", "clock_gettime", FRAME_LIBRARY },
	{ "", "unknown", FRAME_LIBRARY },
	{ "/srv/shop", "runtime.mallocgc", FRAME_LIBRARY },
	{ "/srv/shop", "internal/runtime/maps.(*Map).Get", FRAME_LIBRARY },
	{ "/srv/shop", "main.(*Store).Suggest", FRAME_OWN },
	{ "/srv/shop", "runtime::pool::run", FRAME_OWN },
	{ "python3.11", "list_sort", FRAME_INTERPRETER },
	{ "libpython3.12.so.1.0", "f", FRAME_INTERPRETER },
	{ "node", "f", FRAME_INTERPRETER },
	{ "php-fpm8.2", "f", FRAME_INTERPRETER },
	{ "libjvm.so", "f", FRAME_INTERPRETER },
	{ "java", "[Java]", FRAME_INTERPRETER },
};

START_TEST(native)
{
	ck_assert_int_eq(frame_category_of_native(natives[_i].library, natives[_i].name),
			 natives[_i].category);
}
END_TEST

static const struct {
	const char *path;
	enum frame_category category;
} scripts[] = {
	{ "shop.py", FRAME_OWN },
	{ "/srv/app/lib/shop.rb", FRAME_OWN },
	{ "<string>", FRAME_OWN },
	{ "", FRAME_LIBRARY },
	{ "/usr/lib/python3.11/json/decoder.py", FRAME_LIBRARY },
	{ "/srv/venv/lib/python3.11/site-packages/flask/app.py", FRAME_LIBRARY },
	{ "<frozen importlib._bootstrap>", FRAME_LIBRARY },
	{ "node:internal/timers", FRAME_LIBRARY },
	{ "/srv/app/node_modules/express/lib/router.js", FRAME_LIBRARY },
	{ "/usr/lib/ruby/3.1.0/set.rb", FRAME_LIBRARY },
	{ "/var/lib/gems/3.1.0/gems/rack/rack.rb", FRAME_LIBRARY },
	{ "/srv/app/vendor/symfony/Kernel.php", FRAME_LIBRARY },
	{ "/usr/share/perl/5.36/List/Util.pm", FRAME_LIBRARY },
};

static const struct {
	const char *path;
	enum frame_category outer, category;
} sources[] = {
	{ "/srv/app/shop.cpp", FRAME_OWN, FRAME_OWN },
	{ "/usr/include/c++/12/bits/stl_algo.h", FRAME_OWN, FRAME_LIBRARY },
	{ "/rustc/9fc6b431/library/core/src/iter/range.rs", FRAME_OWN, FRAME_LIBRARY },
	{ "/root/.cargo/registry/src/index.crates.io/serde-1.0/src/de.rs", FRAME_OWN,
	  FRAME_LIBRARY },
	{ "/usr/include/string.h", FRAME_INTERPRETER, FRAME_INTERPRETER },
	{ "/srv/app/shop.cpp", FRAME_LIBRARY, FRAME_LIBRARY },
};

START_TEST(source)
{
	ck_assert_int_eq(frame_category_of_source(sources[_i].path, sources[_i].outer),
			 sources[_i].category);
}
END_TEST

START_TEST(script)
{
	ck_assert_int_eq(frame_category_of_script(scripts[_i].path), scripts[_i].category);
}
END_TEST

START_TEST(java)
{
	ck_assert_int_eq(frame_category_of_java("java/lang/String"), FRAME_LIBRARY);
	ck_assert_int_eq(frame_category_of_java("com/shop/Cart"), FRAME_OWN);
	ck_assert_int_eq(frame_category_of_java("javassist/Loader"), FRAME_OWN);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("frame_category");

	tcase_add_loop_test(tcase, native, 0, (int)(sizeof(natives) / sizeof(natives[0])));
	tcase_add_loop_test(tcase, source, 0, (int)(sizeof(sources) / sizeof(sources[0])));
	tcase_add_loop_test(tcase, script, 0, (int)(sizeof(scripts) / sizeof(scripts[0])));
	tcase_add_test(tcase, java);
	return suite_run(tcase);
}
