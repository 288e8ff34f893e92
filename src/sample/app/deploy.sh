#!/bin/sh
set -e
node --check src/server.js
systemctl --user restart outdoor-shop
