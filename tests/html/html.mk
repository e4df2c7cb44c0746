# SPDX-License-Identifier: BSD-2-Clause
# html.mk - the program that writes an invented recording as a page, for the page's tests and bench. Included by the main Makefile.

HTML_INVENT := $(BUILD)/tests/html/invent

.PHONY: html-tests
html-tests: $(HTML_INVENT)

$(HTML_INVENT): $(BUILD)/tests/html/invent.o $(BUILD)/libloopscope.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $^ $(LDLIBS_ALL) -o $@

-include $(BUILD)/tests/html/invent.d
