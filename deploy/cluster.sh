#!/usr/bin/env bash
# One Perch of several processes on this machine, without containers: its own Redis and PostgreSQL, one process that is the
# channels and three workers. What it keeps is in data/cluster; Ctrl-C ends all of it.
#   deploy/cluster.sh [workers]
set -euo pipefail
cd "$(dirname "$0")/.."

workers=${1:-3}
data=${PERCH_CLUSTER_DATA:-$PWD/data/cluster}
redis_port=${PERCH_REDIS_PORT:-7379}
postgres_port=${PERCH_POSTGRES_PORT:-7432}
http_port=${PERCH_HTTP_PORT:-7373}

# Debian keeps PostgreSQL's programs out of the PATH.
for folder in /usr/lib/postgresql/*/bin; do [ -d "$folder" ] && PATH=$folder:$PATH; done
for program in redis-server initdb postgres pg_isready node; do
  command -v "$program" >/dev/null || { echo "$program is not there: install Redis, PostgreSQL and Node first" >&2; exit 1; }
done
[ -f dist/src/main.js ] || npm run --silent build

mkdir -p "$data/redis" "$data/postgres" "$data/perch"
as=() # PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
  chown -R postgres "$data/postgres"
fi
if [ ! -f "$data/postgres/db/PG_VERSION" ]; then
  "${as[@]}" initdb -D "$data/postgres/db" -U perch -A trust -E UTF8 --no-locale >/dev/null
fi

running=()
services=()
end() {
  trap - EXIT
  trap "" INT TERM
  # Perch first: what runs is given back while its database is there.
  for one in "${running[@]}"; do kill "$one" 2>/dev/null || true; done
  for one in "${running[@]}"; do wait "$one" 2>/dev/null || true; done
  for one in "${services[@]}"; do kill "$one" 2>/dev/null || true; done
  wait 2>/dev/null || true
}
trap end EXIT
trap exit INT TERM

# Each in a process group of its own: the terminal's Ctrl-C is for this script alone, which ends them one after another.
set -m
redis-server --bind 127.0.0.1 --port "$redis_port" --dir "$data/redis" --appendonly yes --save "" >/dev/null &
services+=($!)
(cd "$data/postgres" && exec "${as[@]}" postgres -D "$data/postgres/db" -h 127.0.0.1 -p "$postgres_port" -k "$data/postgres" -c max_connections=200) >"$data/postgres.log" 2>&1 &
postgres=$!
services+=("$postgres")
until pg_isready -q -h 127.0.0.1 -p "$postgres_port" -U perch; do
  kill -0 "$postgres" 2>/dev/null || { echo "PostgreSQL did not start; see $data/postgres.log" >&2; exit 1; }
  sleep 0.2
done

export PERCH_STORE_URL="postgres://perch@127.0.0.1:$postgres_port/postgres"
export PERCH_REDIS_URL="redis://127.0.0.1:$redis_port"
export PERCH_CLUSTER_DATA="$data/perch"
perch() {
  local process=""
  # It ends with what it has begun, and begins nothing more.
  trap '[ -z "$process" ] || { kill "$process" && wait "$process"; } 2>/dev/null; exit' TERM
  # What ends by itself is begun again, as an init system would.
  while :; do
    node dist/src/main.js start --config "${PERCH_CONFIG:-deploy/perch.yaml}" "$@" &
    process=$!
    wait "$process" && exit
    sleep 1
  done
}
perch --role channels --port "$http_port" &
running+=($!)
for ((n = 0; n < workers; n += 1)); do
  perch --role workers --port 0 &
  running+=($!)
done
wait "${running[@]}"
