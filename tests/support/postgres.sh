#!/bin/sh
# postgres.sh - a PostgreSQL for one test, in a directory of its own, for as long as stdin is open.
#
# Prints its address when it answers. Ends the server and removes the directory at the end of stdin,
# so that nothing is left behind however the test ends. The server refuses to run as root: it runs as
# nobody then. Arguments are settings of the server: fsync=off. With PG_ON_DISK it is on the file
# system of TMPDIR, else in memory if there is any. Needs the package postgresql.
set -eu

bin=
for directory in /usr/lib/postgresql/*/bin; do
    [ ! -x "$directory/initdb" ] || bin=$directory
done
[ -n "$bin" ] || {
    echo "postgres.sh: there is no PostgreSQL; install the package postgresql" >&2
    exit 1
}

top=/tmp
[ ! -w /dev/shm ] || top=/dev/shm
[ -z "${PG_ON_DISK:-}" ] || top=${TMPDIR:-/tmp}
home=$(mktemp -d "$top/nb-pg-XXXXXX")
cleanup() {
    for data in data standby; do
        [ ! -s "$home/$data/postmaster.pid" ] || as_user "$bin/pg_ctl" -D "$home/$data" -m immediate stop >/dev/null 2>&1 || true
    done
    rm -rf "$home"
}
as_user() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$home" "$@"
    else
        "$@"
    fi
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
[ "$(id -u)" -ne 0 ] || chown nobody:nogroup "$home"
cd "$home"

options="-c listen_addresses= -c unix_socket_directories=$home -c shared_buffers=16MB -c max_connections=60"
for setting; do
    options="$options -c $setting"
done
as_user "$bin/initdb" -D "$home/data" -U nb -A trust -E UTF8 --locale=C --no-sync >"$home/initdb.log" 2>&1 || {
    cat "$home/initdb.log" >&2
    exit 1
}
as_user "$bin/pg_ctl" -D "$home/data" -l "$home/server.log" -o "$options" -w -t 120 start >/dev/null 2>&1 || {
    cat "$home/server.log" >&2
    exit 1
}
echo "postgresql://nb@/postgres?host=$home"
# Lines of stdin: "stop" and "start" the server, "kill" ends it without warning. "standby" starts a synchronous standby (port
# 5433 of the same directory); "promote" ends the primary without warning and makes the standby the primary.
sql() {
    as_user "$bin/psql" -h "$home" -U nb -d postgres -qAtc "$1" >/dev/null 2>&1
}
standby() {
    # The copy is made before: it does not wait for a standby of its own when it is the primary.
    as_user "$bin/pg_basebackup" -h "$home" -U nb -D "$home/standby" -R -X stream -c fast >/dev/null 2>&1
    as_user "$bin/pg_ctl" -D "$home/standby" -l "$home/standby.log" -o "$options -c port=5433" -w -t 120 start >/dev/null 2>&1
    sql "ALTER SYSTEM SET synchronous_standby_names = '*'" && sql 'SELECT pg_reload_conf()'
}
promote() {
    as_user "$bin/pg_ctl" -D "$home/data" -m immediate -w stop >/dev/null 2>&1
    as_user "$bin/pg_ctl" -D "$home/standby" -w -t 120 promote >/dev/null 2>&1
}
while read -r order; do
    case $order in
    stop) as_user "$bin/pg_ctl" -D "$home/data" -m fast -w stop >/dev/null 2>&1 || true ;;
    kill) as_user "$bin/pg_ctl" -D "$home/data" -m immediate -w stop >/dev/null 2>&1 || true ;;
    standby) standby || order="no standby" ;;
    promote) promote || order="no promotion" ;;
    start) as_user "$bin/pg_ctl" -D "$home/data" -l "$home/server.log" -o "$options" -w -t 120 start >/dev/null 2>&1 || true ;;
    esac
    echo "$order"
done
