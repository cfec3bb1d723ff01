#!/bin/sh
# Install Debian packages whose program is missing: sh scripts/tools.sh PACKAGE:PROGRAM...
# Only as root and only where apt-get is; elsewhere it says what is missing and goes on: the tests
# that need it are then named and counted. Starts no service.
set -u
PATH="$PATH:/usr/sbin:/usr/local/sbin"

missing=""
for pair in "$@"; do
    program=${pair#*:}
    if ! command -v "$program" >/dev/null 2>&1 &&
        ! ls /usr/lib/postgresql/*/bin/"$program" >/dev/null 2>&1; then
        missing="$missing ${pair%%:*}"
    fi
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "missing here:$missing (the tests that need it are named at the end)"
    exit 0
fi

# Debian's own switch: 101 means that installing a package starts no service.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing >/dev/null; } ||
    echo "could not install:$missing"
exit 0
