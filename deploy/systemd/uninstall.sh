#!/bin/sh
# Takes away what install.sh laid out: the program and its service. Running containers go on, and /var/lib/kubelet and
# /etc/kubernetes stay, so that another kubelet can take over.
#
#   deploy/systemd/uninstall.sh [--root DIR]

set -eu

root=
while [ $# -gt 0 ]; do
  case $1 in
    --root) [ $# -ge 2 ] || { echo "uninstall.sh: --root needs a folder" >&2; exit 2; }; root=$2; shift 2 ;;
    --root=*) root=${1#--root=}; shift ;;
    *) echo "uninstall.sh: $1 is not known (--root DIR)" >&2; exit 2 ;;
  esac
done
root=${root%/}
[ "$(id -u)" = 0 ] || { echo "uninstall.sh: must run as root" >&2; exit 1; }

if [ -z "$root" ] && command -v systemctl > /dev/null; then systemctl disable --now kubelet || true; fi
# Only a link of ours: another kubelet may have been put there since.
if [ "$(readlink "$root/usr/bin/kubelet" 2> /dev/null)" = /opt/kubelet-ts/bin/kubelet-ts ]; then rm -f "$root/usr/bin/kubelet"; fi
rm -f "$root/etc/systemd/system/kubelet.service"
rm -rf "$root/opt/kubelet-ts"
if [ -z "$root" ] && command -v systemctl > /dev/null; then systemctl daemon-reload || true; fi
echo "removed; kept ${root}/var/lib/kubelet and ${root}/etc/kubernetes"
