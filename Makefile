# taskhold: every command of the project. `make help` lists them.

CARGO ?= cargo
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR

LIB := build/lib
DEMO := build/demo
# The strictest warnings that C and C++ hosts are likely to compile the header with.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Werror
C_WARNINGS := $(WARNINGS) -std=c99 -Wstrict-prototypes -Wconversion
CXX_WARNINGS := $(WARNINGS) -std=c++11
# A program finds the library beside its own folder, wherever the build folder is moved.
LINK := -L$(LIB) -ltaskhold -Wl,-rpath,'$$ORIGIN/../lib'

CONVERSATION := $(filter-out examples/c/quickstart.c,$(wildcard examples/c/*.c))
export TASKHOLD_LIBRARY = $(CURDIR)/$(LIB)/libtaskhold.so

.PHONY: help demo test lib lint setup bench bench-peers verify deny clean

help:
	@echo 'make demo         build the library and play examples/c: MCP tasks, MCP sessions, A2A tasks'
	@echo 'make test         every test: Rust, C, C++, documentation'
	@echo 'make lib          $(LIB)/libtaskhold.so and libtaskhold.a; everything else takes them from there'
	@echo 'make lint         formatting and warnings as errors, Rust and C'
	@echo 'make verify       C clients under valgrind and sanitizers, injected panics, long races, dependency audit'
	@echo 'make bench        speed, against anchors in the same process'
	@echo 'make bench-peers  speed, against other libraries'
	@echo 'make setup        the Debian packages that all of this needs (a Rust toolchain is assumed)'
	@echo 'make clean        remove what was built'

demo: lib $(DEMO)/conversation
	@$(DEMO)/conversation examples/c/conversation.jsonl examples/c/sessions.jsonl examples/c/a2a.jsonl

# The binary depends on the library by name, so `lib` need not run first when only the program is wanted.
$(DEMO)/conversation: $(CONVERSATION) examples/c/demo.h include/taskhold.h | lib
	@mkdir -p $(DEMO)
	@echo 'Compiling $@'
	@$(CC) $(C_WARNINGS) -O2 -Iinclude $(CONVERSATION) -o $@ $(LINK)

# Cargo knows whether anything changed. Files are replaced, not rewritten: a running program keeps its copy.
# The crate's manifest has neither crate type: beside "lib" they would switch link-time optimization off.
lib:
	@scripts/require.sh gcc cc-headers
	@echo 'Building $(LIB)/libtaskhold.so and libtaskhold.a'
	@$(CARGO) rustc --quiet --release --lib --crate-type cdylib -- \
		-C link-arg=-Wl,-soname,libtaskhold.so.0 -C link-arg=-Wl,-z,nodelete
	@$(CARGO) rustc --quiet --release --lib --crate-type staticlib -- \
		--print native-static-libs=$(abspath $(CARGO_TARGET_DIR))/native-static-libs.txt \
		2>$(CARGO_TARGET_DIR)/staticlib.log || { cat $(CARGO_TARGET_DIR)/staticlib.log; exit 1; }
	@mkdir -p $(LIB)
	@scripts/replace.sh $(CARGO_TARGET_DIR)/release/libtaskhold.so $(LIB)/libtaskhold.so.0
	@scripts/replace.sh $(CARGO_TARGET_DIR)/release/libtaskhold.a $(LIB)/libtaskhold.a
	@scripts/replace.sh $(CARGO_TARGET_DIR)/native-static-libs.txt $(LIB)/native-static-libs.txt
	@ln -sfn libtaskhold.so.0 $(LIB)/libtaskhold.so

test: lib
	@scripts/require.sh g++ nm
	@echo 'Testing: Rust, C and C++ clients, documentation'
	@$(CARGO) test --quiet --no-fail-fast
	@echo 'Testing: injected panics'
	@$(CARGO) test --quiet --features fault-injection --test '*faults*' --test panics
	@echo 'All tests passed.'

lint:
	@scripts/require.sh gcc g++ cc-headers
	@echo 'Checking: rustfmt'
	@$(CARGO) fmt --check
	@echo 'Checking: clippy'
	@$(CARGO) clippy --quiet --all-targets -- -D warnings
	@$(CARGO) clippy --quiet --all-targets --features fault-injection -- -D warnings
	@echo 'Checking: C and C++ with $(C_WARNINGS)'
	@for file in examples/c/*.c tests/c/*.c; do \
		$(CC) $(C_WARNINGS) -fsyntax-only -Iinclude -Itests/c "$$file" || exit 1; done
	@for file in tests/cpp/*.cpp; do \
		$(CXX) $(CXX_WARNINGS) -fsyntax-only -Iinclude -Itests/c "$$file" || exit 1; done
	@if command -v clang-format >/dev/null; then echo 'Checking: clang-format'; \
		clang-format --dry-run --Werror examples/c/*.[ch] tests/c/*.[ch] tests/cpp/*.cpp; fi
	@echo 'No complaints.'

setup:
	@scripts/require.sh make gcc g++ cc-headers nm pkg-config valgrind clang
	@echo 'Everything is there.'

verify: lib
	@scripts/require.sh g++ nm valgrind
	@echo 'Verifying: C and C++ clients and the demo under valgrind and with sanitizers'
	@TASKHOLD_VALGRIND=1 $(CARGO) test --quiet --test c_clients --test conversation --test readme
	@echo 'Verifying: injected panics'
	@$(CARGO) test --quiet --features fault-injection --test '*faults*' --test panics
	@echo 'Verifying: the reference model, races and the soak at length'
	@TASKHOLD_MODEL_CASES=5000 TASKHOLD_RACE_ROUNDS=50000 TASKHOLD_SOAK=200000 \
		$(CARGO) test --quiet --test model --test races --test soak
	@$(MAKE) --no-print-directory deny
	@echo 'Verified.'

DENY := PATH="$$PATH:build/tools/bin" $(CARGO) deny --log-level error

deny:
	@command -v cargo-deny >/dev/null || [ -x build/tools/bin/cargo-deny ] || { \
		echo 'Building cargo-deny into build/tools'; \
		$(CARGO) install --quiet --locked --root build/tools cargo-deny; }
	@echo 'Verifying: licenses, sources and versions of the dependencies'
	@$(DENY) check bans licenses sources
	@if $(DENY) fetch db 2>/dev/null; then \
		echo 'Verifying: known vulnerabilities'; $(DENY) check advisories; \
	else \
		echo 'The advisory database cannot be reached: known vulnerabilities were NOT checked.'; \
	fi

bench: lib
	@echo 'Measuring: the exported functions against anchors in the same process'
	@$(CARGO) bench --quiet --bench '*'

bench-peers: lib
	@[ -x benches/peers/run ] || { echo 'No comparison with other libraries is there yet: benches/peers/run'; exit 1; }
	@benches/peers/run

clean:
	@$(CARGO) clean --quiet
	@rm -rf build
