import { unixAddress } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { peerUser } from "../net/system-socket.ts";
import type { ClientSocketPorts } from "./client-socket.ts";

/**
 * Where a connection comes from. At a UNIX socket there is no address: at that of operators the user's number stands for it (`unix:1000`),
 * at all others `unix:`, which is in no network. docs/listeners.md#unix-sockets
 */
export function peerAddress({ listener }: ClientSocketPorts, socket: ByteSocket): string {
  if (!listener.isUnix) return socket.remoteAddress ?? "";
  return unixAddress(listener.isForOperators ? peerUser(socket.fd) : -1);
}
