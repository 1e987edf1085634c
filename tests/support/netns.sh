#!/bin/sh
# netns.sh NODE SCRIPT SOCKET - a machine of its own for one program: two network namespaces with a cable between them.
#
# Runs in the first of them (unshare -n). 10.99.0.1:5432 there leads to SOCKET (SCRIPT listens); the second has 10.99.0.2 and nothing
# else. Prints the process whose namespace is the second. Lines of stdin: "cut" pulls the cable, "join" plugs it in again; each is
# printed when it is done. Everything ends at the end of stdin.
set -eu
PATH=$PATH:/usr/sbin:/sbin
unshare -n sleep 3600 &
far=$!
forward=
trap 'kill $far $forward 2>/dev/null || true' EXIT
while [ "$(readlink /proc/$far/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do
    kill -0 $far
    sleep 0.02
done
ip link set lo up
ip link add nb0 type veth peer name nb1 netns $far
ip addr add 10.99.0.1/24 dev nb0
ip link set nb0 up
for order in "link set lo up" "addr add 10.99.0.2/24 dev nb1" "link set nb1 up"; do
    # shellcheck disable=SC2086 # words of a command
    nsenter -t $far -n ip $order
done
"$1" "$2" "$3" 10.99.0.1 5432 </dev/null >&2 &
forward=$!
echo $far
while read -r order; do
    case $order in
    cut) ip link set nb0 down ;;
    join) ip link set nb0 up ;;
    esac
    echo "$order"
done
