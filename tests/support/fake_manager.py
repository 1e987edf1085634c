#!/usr/bin/env python3
"""fake_manager.py [OPTIONS] -- COMMAND... - runs COMMAND as a service manager does.

Prints a line of JSON for each state that the service sends, after {"port": N} for each socket that
it passes and {"pid": N}. Ends with the service, and with its exit code; SIGTERM is passed on.

  --listen ADDR[=NAME]   pass a TCP socket at this address (may be repeated)
  --unix PATH            pass a Unix socket
  --abstract             receive states at an abstract address
  --watchdog USEC        expect signs of life
  --foreign              set LISTEN_PID and WATCHDOG_PID to the id of another process
"""
import argparse
import json
import os
import selectors
import signal
import socket
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--listen", action="append", default=[])
parser.add_argument("--unix")
parser.add_argument("--abstract", action="store_true")
parser.add_argument("--watchdog")
parser.add_argument("--foreign", action="store_true")
parser.add_argument("command", nargs="+")
options = parser.parse_args()


def say(**what):
    print(json.dumps(what), flush=True)


sockets, names = [], []
for one in options.listen:
    address, _, name = one.partition("=")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family)
    sock.bind((address, 0))
    sock.listen(16)
    say(port=sock.getsockname()[1], name=name)
    sockets.append(sock)
    names.append(name or "http")
if options.unix:
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(options.unix)
    sock.listen(1)
    sockets.append(sock)
    names.append("unix")

place = tempfile.TemporaryDirectory()
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
address = f"\0nb-fake-{os.getpid()}" if options.abstract else f"{place.name}/notify"
notify.bind(address)

read_end, write_end = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(read_end)
    environment = dict(os.environ, NOTIFY_SOCKET=address.replace("\0", "@"))
    if sockets:
        copies = [os.dup2(sock.fileno(), 100 + i) for i, sock in enumerate(sockets)]
        for i, copy in enumerate(copies):
            os.dup2(copy, 3 + i)
            os.set_inheritable(3 + i, True)
        for copy in copies:
            os.close(copy)
        environment |= {"LISTEN_FDS": str(len(sockets)), "LISTEN_FDNAMES": ":".join(names)}
        environment["LISTEN_PID"] = str(os.getppid() if options.foreign else os.getpid())
    if options.watchdog:
        environment["WATCHDOG_USEC"] = options.watchdog
        environment["WATCHDOG_PID"] = str(os.getppid() if options.foreign else os.getpid())
    os.execvpe(options.command[0], options.command, environment)

os.close(write_end)
say(pid=pid)
signal.signal(signal.SIGTERM, lambda *_: os.kill(pid, signal.SIGTERM))
with selectors.DefaultSelector() as selector:
    selector.register(notify, selectors.EVENT_READ)
    selector.register(read_end, selectors.EVENT_READ)  # ends when the service has executed
    is_running = True
    while is_running:
        for key, _ in selector.select(0.2):
            if key.fileobj is notify:
                say(state=notify.recv(4096).decode())
            else:
                selector.unregister(read_end)
        is_running = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
notify.setblocking(False)
try:
    while True:
        say(state=notify.recv(4096).decode())
except BlockingIOError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
