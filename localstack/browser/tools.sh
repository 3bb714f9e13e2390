#!/bin/sh
# Installs missing tools of the browser and documentation tests: axe-core, Node.js and
# Chromium. It does not fail without Chromium: the tests do. Run it in the project's root
# folder after the stack's Python environment is installed.
set -eu

# wheel FOLDER REQUIREMENTS unpacks pinned wheels into .local/FOLDER.
wheel() {
	if ! cmp -s "$2" ".local/$1/requirements.txt"; then
		rm -rf ".local/$1"
		.local/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
			--target ".local/$1" -r "$2" || { echo "$2 could not be installed: it needs the Python package index" >&2; exit 1; }
		cp "$2" ".local/$1/requirements.txt"
	fi
}

# Short timeouts for unreachable servers.
APT="apt-get -o Acquire::Retries=3 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30"

# The headless shell shows pages with the same engine in half of the processor time.
SHELL_OF_CHROMIUM=chromium-headless-shell

browser() {
	[ -n "${CHROMIUM:-}" ] || [ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ] ||
		command -v $SHELL_OF_CHROMIUM || command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable
}

# install installs packages of Debian.
install() {
	DEBIAN_FRONTEND=noninteractive $APT install --yes --no-install-recommends "$@" fonts-dejavu-core >>.local/chromium.log 2>&1
}

wheel axe localstack/browser/requirements.txt
command -v node >/dev/null || wheel node localstack/browser/requirements-node.txt
if [ -z "${CHROMIUM:-}" ] && ! command -v $SHELL_OF_CHROMIUM >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing Chromium with apt-get"
	$APT update >.local/chromium.log 2>&1 || true
	install $SHELL_OF_CHROMIUM || browser >/dev/null || install chromium ||
		echo "Chromium could not be installed, see .local/chromium.log: the browser tests will fail" >&2
fi
browser >/dev/null || echo "Chromium and Chrome are not installed: without one of them the browser tests will fail" >&2
