#!/bin/sh
# Makes the passwords that compose.yaml mounts: make-secrets.sh DIRECTORY, as root.
#
# The files keep their owner and mode inside the containers: 10001 is the collector's user, 999 is
# PostgreSQL's in its image. What is there already stays.
set -eu
umask 077
directory=${1:?usage: make-secrets.sh DIRECTORY}
mkdir -p "$directory"

# keep NAME OWNER: writes what it reads to a file, unless there is one.
keep() {
  if [ -e "$directory/$1" ]; then
    echo "$directory/$1 stays as it is"
    return
  fi
  cat >"$directory/$1.new"
  chmod 0600 "$directory/$1.new"
  chown "$2:$2" "$directory/$1.new"
  mv "$directory/$1.new" "$directory/$1"
}

random() {
  head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n'
}

random | keep postgres-password 999
random | keep collector-password 999
# libpq refuses a password file that anyone but its owner may read.
printf 'postgres:5432:deniable:deniable:%s\n' "$(cat "$directory/collector-password")" | keep pgpass 10001
