"""Checks that share a file of C share nothing else: names, structures and macros are each one's own."""

import pytest
from c_checks import Check, check_files, failures_on_host
from c_sheets import sheets

ALIKE = """
#define TWICE(x) (2 * (x){more})
struct shape {{
    int32_t count;
}};
static const struct shape count = {{{value}}};
static const char text[] = "count";

static int32_t twice(const struct shape *shape)
{{
    return TWICE(shape->count);
}}

uint32_t CHECK(void)
{{
    return (uint32_t)twice(&count) + (uint32_t)sizeof text - 6u;
}}
"""


def alike(name: str, value: int, more: str = "") -> Check:
    return Check(name, ALIKE.format(value=value, more=more))


@pytest.mark.cc
def test_names_that_are_alike_are_each_one_s_own(tmp_path):
    checks = [alike("first", 0), alike("second", 4), alike("third", 4, " + 1"), alike("fourth", 0)]
    assert failures_on_host(checks, tmp_path) == {"second": 8, "third": 9}
    assert [name for name in check_files(checks) if name.startswith("checks_")] == ["checks_0.c"]


def test_what_is_quoted_pasted_or_a_member_keeps_its_name():
    text = 'static int x;\n#define P(n) x##n\nint f(struct s *a) { return a->x + a.x + x; } // "x" [x] "x"\n'
    (sheet,) = sheets([text], [{}])
    assert sheet == (
        'static int x_0;\n#define P(n) x##n\nint f(struct s *a) { return a->x + a.x + x_0; } // "x" [x] "x"\n'
        "#undef P\n"
    )


def test_sources_are_written_into_the_text_and_macros_of_headers_end_too():
    files = {"a.inc": "static int a;\n", "a.h": "#define A 1\n"}
    (sheet,) = sheets(['#include "a.h"\n#include "a.inc"\n'], [files])
    assert sheet == '#include "a.h"\nstatic int a_0;\n#undef A\n'


def test_a_file_holds_sixteen_texts_or_what_is_about_as_long_as_its_headers():
    short, long = "int a;\n", "/* */\n" * 30_000
    assert [len(sheet) for sheet in sheets([short] * 20, [{}] * 20)] == [16 * 7, 4 * 7]
    assert len(list(sheets([short, long, long, short], [{}] * 4))) == 2
