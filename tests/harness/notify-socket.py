# A service manager's notification socket, sd_notify(3): prints each datagram as one line of JSON.
import json
import os
import socket
import sys

path = sys.argv[1]
if os.path.exists(path):
    os.remove(path)
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(path)
print(json.dumps("listening"), flush=True)
while True:
    print(json.dumps(manager.recv(65536).decode()), flush=True)
