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
# Where cargo builds what is shipped.
SHIPPED = $(CARGO_TARGET_DIR)/shipped
DEMO := build/demo
# Where `make install` puts things: DESTDIR/PREFIX, libraries in LIBDIR below that.
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
# The strictest warnings that C and C++ hosts are likely to compile the header with.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Werror
C_WARNINGS := $(WARNINGS) -std=c99 -Wstrict-prototypes -Wconversion
CXX_WARNINGS := $(WARNINGS) -std=c++11
# A program finds the library beside its own folder, wherever the build folder is moved.
LINK := -L$(LIB) -ltaskhold -Wl,-rpath,'$$ORIGIN/../lib'

CONVERSATION := $(filter-out examples/c/quickstart.c examples/c/restart.c examples/c/worker.c,$(wildcard examples/c/*.c))
export TASKHOLD_LIBRARY = $(CURDIR)/$(LIB)/libtaskhold.so

# Whoever works on the project gets the tools that are missing. pip, Maven and packagers do not: their builds run
# `make lib` and `make install`, which only name them.
ifeq ($(filter lib install,$(MAKECMDGOALS)),)
export TASKHOLD_MISSING := install
else
export TASKHOLD_MISSING := name
endif

PYTHON ?= python3
VENV := build/python
# The plug into FastMCP is tested with an earlier version too.
FASTMCP_BEFORE := build/python-fastmcp-before
# The package as it lies in the tree, over the library in $(LIB).
RUN_PYTHON := PYTHONPATH=$(CURDIR)/bindings/python/src

.PHONY: help demo demo-c demo-python demo-java demo-postgres test test-python test-java lib install uninstall lint setup verify fuzz mutants interleavings miri abidiff deny clean
.PHONY: conformance java-bundle test-node demo-node bench-node bench-node-peers
.PHONY: bench bench-python bench-java bench-peers bench-python-peers

help:
	@echo 'make demo         an MCP client and a server on the official Python SDK, which is killed and started again'
	@echo 'make demo-c       play examples/c: MCP tasks, sessions, A2A tasks, a kill and a restart, workers'
	@echo 'make demo-python  play examples/python: a task, an MCP server with its client, and a worker'
	@echo 'make demo-java    the same kind of conversation from Java'
	@echo 'make demo-postgres two servers over one PostgreSQL database: one is killed, and the other goes on'
	@echo 'make demo-node    a task in TypeScript, and a server on the official TypeScript SDK, which is killed and started again'
	@echo 'make test         every test: Rust, C, C++, Python, Java, Node, documentation'
	@echo 'make test-python  the Python ones alone'
	@echo 'make test-java    the Java ones alone'
	@echo 'make test-node    the Node ones alone, under two versions of Node'
	@echo 'make conformance  the protocol'"'"'s conformance suite against the servers of examples/python, node and java'
	@echo 'make lib          $(LIB)/libtaskhold.so and libtaskhold.a; everything else takes them from there'
	@echo 'make install      header, libraries, pkg-config file and CMake package: PREFIX=/usr/local LIBDIR=lib DESTDIR='
	@echo 'make uninstall    takes them away again'
	@echo 'make lint         formatting and warnings as errors, Rust, C, Python and TypeScript'
	@echo 'make verify       all that takes long: valgrind, sanitizers, Miri, thread models, fuzzing, mutants, ABI, audit'
	@echo 'make java-bundle  the archive of the Java artifacts that Maven Central takes; nothing is uploaded'
	@echo 'make bench        speed, against anchors in the same process; CARGO_BENCH_ARGS="M1 M6" for some rows'
	@echo 'make bench-java   speed of the Java binding, against a Java program that does the same'
	@echo 'make bench-peers  speed, against other libraries; its last part, bench-python-peers: a2a-python, over files too'
	@echo 'make setup        the Debian packages that all of this needs (a Rust toolchain is assumed); lib and install name them only'
	@echo 'make clean        remove what was built'

# A client on the official SDK, and a server that is killed and started again; the same SDK as in the tests.
demo: lib $(DEMO)/python/installed
	@$(RUN_PYTHON) $(DEMO)/python/bin/python examples/python/story.py

$(DEMO)/python/installed: bindings/python/requirements-dev.txt
	@scripts/require.sh $(PYTHON) python3-venv
	@echo 'Installing the MCP SDK into $(DEMO)/python'
	@$(PYTHON) -m venv --clear $(DEMO)/python
	@$(DEMO)/python/bin/pip install --quiet --disable-pip-version-check $$(grep '^mcp==' $<)
	@touch $@

demo-c: lib $(DEMO)/conversation $(DEMO)/restart $(DEMO)/worker
	@$(DEMO)/conversation examples/c/conversation.jsonl examples/c/sessions.jsonl examples/c/a2a.jsonl
	@rm -f $(DEMO)/*.db $(DEMO)/*.db-wal $(DEMO)/*.db-shm $(DEMO)/*.db-journal
	@$(DEMO)/restart sqlite:$(DEMO)/agents.db
	@$(DEMO)/worker sqlite:$(DEMO)/work.db

demo-python: lib
	@scripts/require.sh $(PYTHON)
	@$(RUN_PYTHON) $(PYTHON) examples/python/quickstart.py
	@$(RUN_PYTHON) $(PYTHON) examples/python/own_server.py --demo
	@$(RUN_PYTHON) $(PYTHON) examples/python/worker.py --demo

# Two servers over one database, of which one is killed.
demo-postgres: lib
	@scripts/require.sh $(PYTHON)
	@scripts/postgres.sh c sh -c \
		'$(RUN_PYTHON) exec $(PYTHON) examples/python/fleet.py --store "$$TASKHOLD_TEST_POSTGRES"'

# The binary depends on the library by name, so `lib` need not run first when only the program is wanted.
$(DEMO)/conversation: $(CONVERSATION) examples/c/demo.h include/taskhold.h | lib
	@mkdir -p $(DEMO)
	@echo 'Compiling $@'
	@$(CC) $(C_WARNINGS) -O2 -Iinclude $(CONVERSATION) -o $@ $(LINK)

$(DEMO)/restart $(DEMO)/worker: $(DEMO)/%: examples/c/%.c include/taskhold.h | lib
	@mkdir -p $(DEMO)
	@echo 'Compiling $@'
	@$(CC) $(C_WARNINGS) -O2 -Iinclude $< -o $@ $(LINK)

# Cargo knows whether anything changed. One call makes both, each optimized as a whole, in a folder of its own: a plain
# `cargo build --release` leaves files of the same names, which are not.
lib:
	@scripts/require.sh gcc cc-headers objcopy
	@command -v $(CARGO) >/dev/null || { echo 'There is no Rust toolchain: $(CARGO) is not found' >&2; exit 1; }
	@echo 'Building $(LIB)/libtaskhold.so and libtaskhold.a'
	@mkdir -p $(SHIPPED) $(LIB)
	@$(CARGO) rustc --quiet --release --lib --crate-type cdylib,staticlib --target-dir $(SHIPPED) -- \
		--print native-static-libs=$(abspath $(SHIPPED))/native-static-libs.txt \
		2>$(SHIPPED)/cargo.log || { cat $(SHIPPED)/cargo.log; exit 1; }
	@packaging/finish.sh $(SHIPPED)/release $(LIB)
	@scripts/replace.sh $(SHIPPED)/native-static-libs.txt $(LIB)/native-static-libs.txt

# Root without a Rust toolchain, as under sudo, installs what its owner built.
install:
	@if command -v $(CARGO) >/dev/null; then $(MAKE) --no-print-directory lib; fi
	@packaging/install.sh install '$(PREFIX)' '$(LIBDIR)' '$(DESTDIR)'

uninstall:
	@packaging/install.sh uninstall '$(PREFIX)' '$(LIBDIR)' '$(DESTDIR)'

test: lib
	@scripts/require.sh g++ nm cmake pkg-config postgres openssl pgbouncer faketime
	@echo 'Testing: Rust, C and C++ clients, documentation'
	@$(CARGO) test --quiet --no-fail-fast
	@echo 'Testing: the same rules over SQLite'
	@scripts/test-sqlite.sh
	@echo 'Testing: the same rules over PostgreSQL'
	@scripts/test-postgres.sh
	@echo 'Testing: injected panics'
	@$(CARGO) test --quiet --features fault-injection --test '[!p]*faults*' --test panics
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line test-python test-java test-node
	@echo 'All tests passed.'

test-python: lib $(VENV)/tools $(FASTMCP_BEFORE)/tools
	@echo 'Testing: Python'
	@cd bindings/python && $(CURDIR)/scripts/postgres.sh c $(CURDIR)/$(VENV)/bin/python -X dev -m pytest -q
	@cd bindings/python && $(CURDIR)/$(FASTMCP_BEFORE)/bin/python -m pytest -q tests/test_plugs.py tests/test_takeover.py -k '(on_both or test_takeover) and fastmcp'

# The tools of the Python tests, in an environment of their own: Debian's Python lets nobody install into it.
$(VENV)/tools: bindings/python/requirements-dev.txt
	@scripts/require.sh $(PYTHON) python3-venv
	@echo 'Installing the tools of the Python tests into $(VENV)'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check -r bindings/python/requirements-dev.txt
	@touch $@

$(FASTMCP_BEFORE)/tools: bindings/python/requirements-fastmcp-before.txt
	@scripts/require.sh $(PYTHON) python3-venv
	@echo 'Installing an earlier FastMCP into $(FASTMCP_BEFORE)'
	@$(PYTHON) -m venv --clear $(FASTMCP_BEFORE)
	@$(FASTMCP_BEFORE)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

NODE := bindings/node
NODE_MODULES := $(NODE)/node_modules
NODE_EXAMPLES := examples/node/node_modules
NODE_TESTS := --test --test-timeout=120000 --test-reporter=./.tests/reporter.js
# Those that compile programs run these under both versions themselves.
NODE_EVERYWHERE = $$(ls .tests/*.test.js | grep -v -e packaging -e readme)

SUITE := build/conformance

# npm brings the suite and the Node that it needs.
$(SUITE)/installed: bindings/python/conformance/package.json
	@scripts/require.sh node npm
	@echo 'Installing the conformance suite into $(SUITE)'
	@mkdir -p $(SUITE)
	@cp $< $(SUITE)/package.json
	@npm install --prefix $(SUITE) --silent --no-audit --no-fund
	@touch $@

# WRITE=--write writes docs/conformance.md anew.
conformance: lib $(VENV)/tools $(FASTMCP_BEFORE)/tools $(SUITE)/installed $(NODE)/dist/index.js $(NODE_EXAMPLES)/installed
	@scripts/require.sh mvn javac
	@echo 'Building the Java binding and its example of a server'
	@$(MAVEN) -f bindings/java install -DskipTests -Dmaven.javadoc.skip
	@$(MAVEN) -f examples/java/server compile
	@echo 'Testing: the conformance suite against examples/python, examples/node and examples/java'
	@$(VENV)/bin/python bindings/python/conformance/run.py $(SUITE) \
		--fastmcp $(CURDIR)/$(FASTMCP_BEFORE)/bin/python --node $(CURDIR)/$(NODE_MODULES)/node22/bin/node \
		--java $(CURDIR)/$(DEMO)/java-server/classes $(WRITE)

# Maven calls `make lib` by itself; a Java user needs no more than the command here. It uses a JDK 22 or later, if it
# finds one, for the half of the binding that needs it.
MAVEN := mvn --batch-mode --quiet -Dorg.slf4j.simpleLogger.log.org.apache.maven.plugin.surefire=info

test-java: lib
	@scripts/require.sh mvn javac
	@echo 'Testing: the Java binding'
	@scripts/postgres.sh icu $(MAVEN) -f bindings/java install
	@echo 'Building: the example of a server in Java'
	@$(MAVEN) -f examples/java/server compile

demo-java: lib
	@scripts/require.sh mvn javac
	@echo 'Building the Java binding'
	@$(MAVEN) -f bindings/java install -DskipTests -Dmaven.javadoc.skip
	@$(MAVEN) -f examples/java compile
	@java --enable-native-access=ALL-UNNAMED -cp '$(DEMO)/java/classes:$(DEMO)/java/libraries/*' Conversation
	@java --enable-native-access=ALL-UNNAMED -cp '$(DEMO)/java/classes:$(DEMO)/java/libraries/*' Reports

# npm brings the versions of Node that the tests run under; the machine's own only runs npm.
$(NODE_MODULES)/installed: $(NODE)/package-lock.json
	@scripts/require.sh node npm
	@echo 'Installing the tools of the Node tests into $(NODE_MODULES)'
	@npm ci --prefix $(NODE) --silent --no-audit --no-fund
	@touch $@

$(NODE)/dist/index.js: $(NODE_MODULES)/installed $(NODE)/build.mjs $(wildcard $(NODE)/src/*.ts $(NODE)/src/*/*.ts)
	@cd $(NODE) && node_modules/node22/bin/node build.mjs

# What the examples import beside the package, which is linked there.
$(NODE_EXAMPLES)/installed: examples/node/package-lock.json
	@scripts/require.sh node npm
	@echo 'Installing the SDK into $(NODE_EXAMPLES)'
	@npm ci --prefix examples/node --silent --no-audit --no-fund
	@touch $@

test-node: lib $(NODE)/dist/index.js
	@echo 'Testing: Node'
	@cd $(NODE) && node_modules/node22/bin/node node_modules/typescript/bin/tsc -p tests
	@cd $(NODE) && $(CURDIR)/scripts/postgres.sh icu node_modules/node22/bin/node $(NODE_TESTS) .tests/*.test.js
	@cd $(NODE) && node_modules/node20/bin/node $(NODE_TESTS) $(NODE_EVERYWHERE)

demo-node: lib $(NODE)/dist/index.js $(NODE_EXAMPLES)/installed
	@$(NODE_MODULES)/node22/bin/node examples/node/quickstart.ts
	@$(NODE_MODULES)/node22/bin/node examples/node/story.ts

bench-java: lib
	@scripts/require.sh mvn javac
	@bindings/java/taskhold-bench/run

# The files that Maven Central takes, of all published artifacts, in one archive. Nothing is uploaded.
java-bundle: lib
	@scripts/require.sh mvn javac unzip
	@rm -rf build/java-bundle
	@echo 'Making the bundle of the Java artifacts'
	@$(MAVEN) -f bindings/java -Prelease -DskipTests verify
	@packaging/check-java-bundle.sh build/taskhold-java-*.zip

lint: $(VENV)/tools $(NODE)/dist/index.js $(NODE_EXAMPLES)/installed
	@scripts/require.sh gcc g++ cc-headers
	@echo 'Checking: rustfmt'
	@$(CARGO) fmt --check
	@echo 'Checking: clippy'
	@$(CARGO) clippy --quiet --lib -- -D warnings
	@$(CARGO) clippy --quiet --lib --no-default-features -- -D warnings
	@$(CARGO) clippy --quiet --all-targets -- -D warnings
	@$(CARGO) clippy --quiet --all-targets --features fault-injection -- -D warnings
	@echo 'Checking: C and C++ with $(C_WARNINGS)'
	@for file in examples/c/*.c tests/c/*.c tests/install/*.c; do \
		$(CC) $(C_WARNINGS) -fsyntax-only -Iinclude -Itests/c "$$file" || exit 1; done
	@for file in tests/cpp/*.cpp; do \
		$(CXX) $(CXX_WARNINGS) -fsyntax-only -Iinclude -Itests/c "$$file" || exit 1; done
	@if command -v clang-format >/dev/null; then echo 'Checking: clang-format'; \
		clang-format --dry-run --Werror examples/c/*.[ch] tests/c/*.[ch] tests/install/*.c tests/cpp/*.cpp; fi
	@echo 'Checking: ruff and mypy --strict'
	@cd bindings/python && $(CURDIR)/$(VENV)/bin/ruff format --quiet --check . ../../examples/python
	@cd bindings/python && $(CURDIR)/$(VENV)/bin/ruff check --quiet . ../../examples/python
	@cd bindings/python && $(CURDIR)/$(VENV)/bin/mypy --no-error-summary
	@echo 'Checking: biome and tsc --strict'
	@cd $(NODE) && node_modules/node22/bin/node node_modules/@biomejs/biome/bin/biome ci --log-level=warn . ../../examples/node
	@for project in $(NODE) examples/node; do \
		$(NODE_MODULES)/node22/bin/node $(NODE_MODULES)/typescript/bin/tsc --noEmit -p $$project || exit 1; done
	@echo 'No complaints.'

setup:
	@scripts/require.sh make gcc g++ cc-headers nm cmake pkg-config valgrind clang git abidiff $(PYTHON) \
		python3-venv mvn javac node npm postgres openssl pgbouncer faketime
	@echo 'Everything is there.'

# CHECKS="miri fuzz" runs these only; docs/verification.md has them all, and their settings.
verify: lib
	@scripts/require.sh g++ nm valgrind
	@scripts/verify.sh $(CHECKS)

fuzz mutants interleavings miri:
	@scripts/verify.sh $@

abidiff: lib
	@scripts/require.sh gcc git abidiff
	@echo 'Verifying: the ABI is still that of the last release'
	@packaging/abidiff.sh

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
	@scripts/require.sh readelf
	@packaging/check-lto.sh $(LIB)/libtaskhold.so
	@echo 'Measuring: the exported functions against anchors in the same process'
	@$(CARGO) bench --quiet --bench memory --bench sqlite -- $(CARGO_BENCH_ARGS)
	@scripts/postgres.sh c $(CARGO) bench --quiet --bench postgres -- $(CARGO_BENCH_ARGS)
	@$(MAKE) --no-print-directory bench-python

bench-python: lib
	@scripts/require.sh $(PYTHON)
	@echo 'Measuring: the Python package against the C calls below it'
	@$(RUN_PYTHON) $(PYTHON) bindings/python/benches/overhead.py
	@$(RUN_PYTHON) $(PYTHON) bindings/python/benches/waiting.py

bench-python-peers: lib $(VENV)-peers/installed
	@echo 'Measuring: the Python package against a2a-python'
	@$(RUN_PYTHON) $(VENV)-peers/bin/python bindings/python/benches/peers.py
	@scripts/require.sh redis-server postgres openssl
	@echo 'Measuring: queued work in Python against huey, docket and procrastinate'
	@$(RUN_PYTHON) scripts/postgres.sh icu $(VENV)-peers/bin/python bindings/python/benches/queues.py

bench-node: lib $(NODE)/dist/index.js
	@echo 'Measuring: the Node package against the C calls below it'
	@$(NODE_MODULES)/node22/bin/node --expose-gc $(NODE)/benches/overhead.mjs

bench-node-peers: lib $(NODE)/dist/index.js
	@echo 'Measuring: the Node package against the MCP TypeScript SDK'
	@$(NODE_MODULES)/node22/bin/node --expose-gc $(NODE)/benches/peers.mjs

$(VENV)-peers/installed: bindings/python/benches/requirements.txt
	@scripts/require.sh $(PYTHON) python3-venv
	@$(PYTHON) -m venv --clear $(VENV)-peers
	@$(VENV)-peers/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Versions are fixed there; a peer that cannot be installed is left out and named.
bench-peers: lib
	@packaging/check-lto.sh $(LIB)/libtaskhold.so
	@benches/peers/run
	@$(MAKE) --no-print-directory bench-python-peers || \
		echo 'Left out: a2a-python and queues with the Python package' >&2
	@$(MAKE) --no-print-directory bench-node-peers || echo 'Left out: the MCP TypeScript SDK with the Node package' >&2

clean:
	@$(CARGO) clean --quiet
	@rm -rf build $(NODE)/dist $(NODE)/natives $(NODE)/.tests $(NODE_MODULES) $(NODE_EXAMPLES)
