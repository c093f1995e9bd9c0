#!/bin/sh
# Starts Patroni with the passwords, which are files, in its environment.
set -eu
read_secret() { cat "$CREDENTIALS_DIRECTORY/$1"; }
PATRONI_SUPERUSER_PASSWORD=$(read_secret DATABASE_ADMIN_PASSWORD)
PATRONI_REPLICATION_PASSWORD=$(read_secret DATABASE_REPLICATION_PASSWORD)
export PATRONI_SUPERUSER_PASSWORD PATRONI_REPLICATION_PASSWORD
exec patroni "$1"
