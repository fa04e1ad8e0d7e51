# `make demo` and `make test` are the two commands of README.md; both install what is missing first.

SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
LAB := target/release/kirikae-lab
DEMO := scenarios/long-clean.toml scenarios/long-isolated-1.toml \
	scenarios/long-bursts.toml scenarios/shallow.toml

.PHONY: demo test required conformance kernels bench figures fuzz build format lint deny docs rustdoc msrv web web-check python-check \
	deb deb-test wheel build-cross test-cross stale regenerate

# ARCH=arm64: for another architecture, built in a Debian of its own (scripts/cross).
ifdef ARCH
DEB_ARCH := -$(ARCH)
CROSS = $(SUDO) env CARGO_HOME="$${CARGO_HOME:-$$HOME/.cargo}" scripts/cross $(ARCH)
endif
DEB := target/debian/kirikae$(DEB_ARCH).deb
LAB_DEB := target/debian/kirikae-lab$(DEB_ARCH).deb

# Asked what the host lacks; each skip is noted in a file, since cargo hides what passing tests say.
CHECKS := cargo run --quiet --locked --package kirikae-checks --
export KIRIKAE_SKIPPED := $(CURDIR)/target/skipped
STALE := cargo run --quiet --locked --package kirikae-generate -- stale

GUEST := cargo run --quiet --release --locked --package kirikae-guest --
PACK := cargo deb --quiet --locked --no-build --strip

# The real kernel over four emulated paths, about three minutes; where root or BPF is missing (exit
# status 3), the same in the simulator.
demo: build
	if [ "$$(id -u)" != 0 ] && ! sudo true; then $(SIMULATED_DEMO); \
	else $(SUDO) $(LAB) bench $(DEMO) || { test $$? = 3 && $(SIMULATED_DEMO); }; fi

SIMULATED_DEMO = echo "So these are simulated figures, of virtual time:" && $(LAB) sim $(DEMO)

build:
	scripts/install-missing build
	cargo build --release --locked

# Everything that CI checks. What the host lacks is told first where KIRIKAE_REQUIRE names it
# (KIRIKAE_REQUIRE=root,chromium), and else skipped and counted at the end.
test: required
	$(MAKE) --no-print-directory lint rustdoc deny
	cargo test --workspace --locked
	$(MAKE) --no-print-directory python-check
	$(STALE) || echo "(No failure: see CONTRIBUTING.md, What is generated)"
	-scripts/install-missing guest
	if $(CHECKS) can-run qemu "other kernels and conformance"; \
	then cargo build --release --locked && $(GUEST) life 6.1 7.3 && $(GUEST) conformance --short; \
	else test $$? = 3; fi
	if $(CHECKS) can-run bpf "the package" && $(CHECKS) can-run debian "the package"; \
	then scripts/install-missing deb && cargo build --release --locked && \
		target/debug/examples/manual target/manual && $(PACK) --package kirikae --output $(DEB) && \
		scripts/deb-test $(DEB); \
	else test $$? = 3; fi
	@$(CHECKS) summary $(KIRIKAE_SKIPPED)

required:
	scripts/install-missing build test
	$(CHECKS) require
	rm -f $(KIRIKAE_SKIPPED)

# Our algorithms beside the kernel's own: cwnd, round trip by round trip, in guests under qemu.
conformance:
	scripts/install-missing build guest
	$(GUEST) conformance

# What works on each kernel that people run, and on the next one's release candidate: `kirikae run` in
# guests under qemu. CLANG=clang-19: whether those kernels take the BPF programs as that clang compiles them, too;
# KERNELS="6.1 7.3": these only.
kernels: $(if $(CLANG),,build)
	scripts/install-missing build guest
ifdef CLANG
	KIRIKAE_CLANG=$(CLANG) cargo build --locked --package kirikae --target-dir target/$(CLANG)
	$(GUEST) life --program target/$(CLANG)/debug/kirikae $(KERNELS)
else
	$(GUEST) life $(KERNELS)
endif

lint: web-check
	scripts/install-missing build test
	cargo fmt --all --check
	clang-format --dry-run --Werror $$(git ls-files '*.c' '*.h')
	shellcheck $$(git ls-files .ci packaging scripts | xargs grep -lE '^#!.*[/ ](ba)?sh$$')
	scripts/book --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

# The page that the agent serves, from web/; what comes out is committed, so that only who changes it
# needs Node.js (18 or later).
web: web/node_modules
	cd web && npm run --silent build

# That what is committed is what the sources give.
web-check:
	@if $(CHECKS) can-run npm "web/ and what of it is committed"; \
	then $(MAKE) --silent --no-print-directory web/node_modules && \
		cd web && npm run --silent check && npm run --silent test; \
	else test $$? = 3; fi

web/node_modules: web/package-lock.json
	cd web && npm ci --silent
	touch $@

# The Python package as a wheel, in an environment of its own with what reads its tables.
python-check:
	@if $(CHECKS) can-run python "the Python package"; \
	then scripts/python-check; \
	else test $$? = 3; fi

# The documents as a site with navigation and search, target/docs/index.html; a link that leads nowhere ends it.
docs:
	scripts/install-missing docs
	scripts/book

# What our crates offer, target/doc; a warning, such as a link that leads nowhere, ends it.
rustdoc:
	scripts/install-missing build
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Whether it builds with the oldest Rust that Cargo.toml promises, in a directory of its own.
msrv:
	scripts/install-missing build msrv
	cargo +$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) check --workspace --all-targets --locked \
		--target-dir target/msrv

# Licences, duplicate versions and sources of what we depend on, and known weaknesses.
deny:
	scripts/install-missing deny
	cargo deny --locked check licenses bans sources
	scripts/advisories

format:
	cargo fmt --all
	clang-format -i $$(git ls-files '*.c' '*.h')

# Debian packages: target/debian/kirikae.deb for servers and kirikae-lab.deb, the laboratory; or
# kirikae-arm64.deb and kirikae-lab-arm64.deb.
deb: $(if $(ARCH),build-cross,build)
	scripts/install-missing build deb
	cargo run --quiet --release --locked --package kirikae-lab --example manual -- target/manual
	$(CROSS) $(PACK) --package kirikae --output $(DEB)
	$(CROSS) $(PACK) --package kirikae-lab --output $(LAB_DEB)
	$(if $(ARCH),,scripts/toolchain target/release/kirikae || echo "(No failure: it is only a release that is to be so)")

# The Python package for others to install, for CPython 3.11 or later: a wheel in target/wheel or target/wheel-arm64.
# It runs where the C library is no older than where it was built.
wheel:
	scripts/install-missing build python $(if $(ARCH),cross)
	scripts/maturin --version
	$(CROSS) target/python/bin/maturin build --release --locked --compatibility linux \
		$(if $(ARCH),--target aarch64-unknown-linux-gnu) --manifest-path python/Cargo.toml --out target/wheel$(DEB_ARCH)

build-cross:
	scripts/install-missing build cross
	cargo fetch --locked
	$(CROSS) cargo build --release --locked --package kirikae --package kirikae-lab \
		--package kirikae-guest

# The other architecture: what the kernel's programs are made of as native code, by qemu, and `kirikae run` in
# guests with its kernels: `make test-cross ARCH=arm64`.
test-cross: build-cross
	$(CROSS) cargo test --locked --package kirikae-algorithms --package kirikae-table \
		--package kirikae-tcp --package kirikae-sim
	$(GUEST) life --arch $(ARCH) 6.1 6.12 7.3

# The package on a clean Debian 12 with systemd: installed, started, killed, upgraded, purged. As root.
deb-test: deb
	scripts/install-missing deb-test
	$(SUDO) scripts/deb-test $(DEB)

GENERATE := cargo run --release --locked --package kirikae-generate --

# What of the tables and figures that are generated is of other sources than there are now.
stale:
	$(STALE)

# Makes it again, half an hour on two idle cores; `STEPS="search regret"`: these, stale or not. What is not
# stale is passed over, so that an interrupted run goes on. The tables are compiled into what makes the rest.
regenerate:
	scripts/install-missing build
ifdef STEPS
	$(GENERATE) $(STEPS)
else
	$(GENERATE) tables
	$(GENERATE) rest
	cargo run --locked --package kirikae-algorithms --example pages
endif

# Speeds, not tests: path elements, the emulator, and what an algorithm costs for each ACK.
bench: build
	cargo bench --workspace --locked

# What is wanted of some sixty figures, what they are, and what they were at the last commit that has them: eleven minutes,
# as root. ONLY=simulated: a minute, without root; ONLY=kernel; KEEP=1: keeps the values.
figures:
	scripts/install-missing build
	cargo build --release --locked --package kirikae-figures
	$(if $(filter simulated,$(ONLY)),,$(SUDO)) target/release/kirikae-figures $(if $(ONLY),--only $(ONLY)) $(if $(KEEP),--keep)

# Whatever a connection may meet, against every algorithm, and against the BBRs with each quiet ACK
# beside one for which everything is looked at; against the whole switcher; and whatever may be read, as a policy, a table or an
# event of the kernel: ten minutes each, or with RUNS=1000000 so many inputs. Needs a nightly compiler. What it finds new
# goes to target/fuzz-corpus.
fuzz: fuzz-algorithms fuzz-quiet fuzz-switcher fuzz-policy_file fuzz-latency_table fuzz-events fuzz-http_query fuzz-kept_paths fuzz-capture fuzz-netlink

fuzz-%:
	scripts/install-missing build fuzz
	mkdir -p target/fuzz-corpus/$*
	cargo +nightly fuzz run --sanitizer none $* target/fuzz-corpus/$* fuzz/corpus/$* -- \
		-max_len=4096 $(if $(RUNS),-runs=$(RUNS),-max_total_time=600)
