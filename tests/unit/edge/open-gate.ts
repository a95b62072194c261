import { ConnectionSet } from "../../../src/edge/client-socket.ts";
import { ConnectionGate } from "../../../src/edge/connection-gate.ts";

const COUNTS = {
  addresses: { idOf: () => 0, add: () => {}, total: () => 0 },
  add: () => {},
  total: () => 0,
  askForRoom: () => {},
  isAskedForRoom: () => false,
};
const OBSERVER = {
  onPaused: () => {},
  onIdleClosed: () => {},
  onTooMany: () => {},
  onBanned: () => {},
  onBeyond: () => {},
};
const LIMITS = { maxConnections: Number.POSITIVE_INFINITY, maxPerAddress: 0, exempt: { has: () => false }, bans: null };

/** A gate that lets everybody in. */
export function openGate(): ConnectionGate {
  return new ConnectionGate(LIMITS, COUNTS, new ConnectionSet(), OBSERVER, () => false);
}
