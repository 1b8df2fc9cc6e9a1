#!/bin/sh
# Lays kubelet-ts out on a node: the program, its service and a hardened configuration, with the owners and modes that the
# CIS benchmark asks for. What an administrator has changed stays: an existing config.yaml is not replaced.
#
#   deploy/systemd/install.sh               on this machine (as root)
#   deploy/systemd/install.sh --root DIR    below DIR, for an image; nothing outside it is touched and nothing is started

set -eu

root=
while [ $# -gt 0 ]; do
  case $1 in
    --root) [ $# -ge 2 ] || { echo "install.sh: --root needs a folder" >&2; exit 2; }; root=$2; shift 2 ;;
    --root=*) root=${1#--root=}; shift ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "install.sh: $1 is not known (--root DIR)" >&2; exit 2 ;;
  esac
done
root=${root%/}

fail() { echo "install.sh: $*" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
[ "$(id -u)" = 0 ] || fail "must run as root: files of a node belong to root"
[ -f "$project/dist/kubelet-ts.mjs" ] || fail "there is no $project/dist: run 'npm ci && npm run build' first"

# The Node that the project is built with, beside the program: the distribution's may be older, or go.
node=
for candidate in "$project/node" "$project/node_modules/node/bin/node" "$project"/node_modules/node-linux-*/bin/node; do
  if [ -f "$candidate" ] && [ -x "$candidate" ]; then node=$candidate; break; fi
done
[ -n "$node" ] || fail "no Node 24 found in $project: run 'npm ci' first"

program=$root/opt/kubelet-ts
# Beside the old one and swapped in: an agent that starts meanwhile finds a whole program.
rm -rf "$program.new"
install -d -m 0755 "$program.new/bin" "$root/usr/bin"
cp -R "$project/dist" "$program.new/dist"
install -m 0755 "$project/bin/kubelet-ts" "$program.new/bin/kubelet-ts"
install -m 0755 "$node" "$program.new/node"
chown -R 0:0 "$program.new"
chmod -R go-w "$program.new"
rm -rf "$program.old"
[ ! -d "$program" ] || mv "$program" "$program.old"
mv "$program.new" "$program"
rm -rf "$program.old"
ln -sfn /opt/kubelet-ts/bin/kubelet-ts "$root/usr/bin/kubelet"

install -d -m 0755 "$root/etc/systemd/system" "$root/etc/kubernetes" "$root/etc/kubernetes/pki"
install -d -m 0700 "$root/etc/kubernetes/manifests"
install -d -m 0750 "$root/var/lib/kubelet"
install -d -m 0755 "$root/var/lib/kubelet/pki"
install -m 0600 -o 0 -g 0 "$here/kubelet.service" "$root/etc/systemd/system/kubelet.service"
if [ -e "$root/var/lib/kubelet/config.yaml" ]; then
  echo "kept $root/var/lib/kubelet/config.yaml (the new one is $here/config.yaml)"
else
  install -m 0600 -o 0 -g 0 "$here/config.yaml" "$root/var/lib/kubelet/config.yaml"
fi
for file in etc/kubernetes/kubelet.conf etc/kubernetes/bootstrap-kubelet.conf var/lib/kubelet/config.yaml; do
  if [ -f "$root/$file" ]; then chown 0:0 "$root/$file" && chmod go-rwx "$root/$file"; fi
done

echo "installed below ${root:-/}"
if [ -z "$root" ]; then
  command -v systemctl > /dev/null && systemctl daemon-reload
  echo "start it with: systemctl enable --now kubelet"
fi
