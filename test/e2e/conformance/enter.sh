#!/bin/bash
# PID 1 of the namespaces of one run of the suite: makes a machine of its own out of them, then runs the given command.
#   enter.sh FOLDER PRIVATE_TMP COMMAND...    FOLDER keeps what would lie in /var/lib/kubelet and the like
# The node has the address 172.31.250.2 on eth0, whose other end is a network namespace named gateway with 172.31.250.1.
set -eu
folder=$1 private_tmp=$2
shift 2
umask 022
mount --make-rshared /
mount -t proc proc /proc

# What this cgroup namespace may see: each hierarchy, mounted again, shows the run's group as its root.
hierarchies=$(awk '$5 ~ "^/sys/fs/cgroup/" { split($0, half, " - "); split(half[2], fs, " "); n = split($5, path, "/"); print path[n], fs[1], fs[3] }' /proc/self/mountinfo)
unified=$(awk '$5 == "/sys/fs/cgroup" && / - cgroup2 / { print "yes"; exit }' /proc/self/mountinfo)
umount -R -l /sys
mount -t sysfs sysfs /sys
if [ -n "$unified" ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
  while read -r name type options; do
    mkdir -p "/sys/fs/cgroup/$name"
    if [ "$type" = cgroup2 ]; then mount -t cgroup2 cgroup2 "/sys/fs/cgroup/$name"; else mount -t cgroup -o "${options#rw,}" cgroup "/sys/fs/cgroup/$name"; fi
  done <<<"$hierarchies"
fi

mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/netns /run/containerd
for path in /var/lib/kubelet /var/log/pods /var/log/containers /var/lib/cni; do
  mkdir -p "$folder/machine$path"
  mount --bind "$folder/machine$path" "$path"
done
mount --make-rshared /var/lib/kubelet
if [ "$private_tmp" = yes ]; then
  mkdir -p -m 1777 "$folder/machine/tmp"
  mount --bind "$folder/machine/tmp" /tmp
fi

hostname e2enode
echo 'nameserver 127.0.0.1' >/run/resolv.conf
printf '127.0.0.1 localhost\n172.31.250.2 e2enode\n' >/run/hosts
mount --bind /run/resolv.conf /etc/resolv.conf
mount --bind /run/hosts /etc/hosts

echo 1 >/proc/sys/net/ipv4/ip_forward
ip link set lo up
ip netns add gateway
ip link add eth0 type veth peer name eth0 netns gateway
ip address add 172.31.250.2/24 dev eth0
ip link set eth0 up
ip -n gateway address add 172.31.250.1/24 dev eth0
ip -n gateway link set eth0 up
ip -n gateway link set lo up
ip route add default via 172.31.250.1 dev eth0

# Not exec: PID 1 collects orphans, which bash does and node does not. When it ends, the kernel ends all the rest.
"$@"
