#!/bin/sh
# Creates the role and the database of the nodes in a new cluster. Patroni runs it once, with the address of the server.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --set password="$(cat "$CREDENTIALS_DIRECTORY/CONVOKE_SECRET_STORE_PASSWORD")" "$1" <<'SQL'
CREATE ROLE convoke LOGIN PASSWORD :'password';
CREATE DATABASE convoke OWNER convoke;
SQL
