import { pathPattern } from "../../config/http-syntax.ts";
import { list } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { duration, integer, secret } from "../../config/scalars.ts";

/** The bounds of a room, whatever the configuration says: each visitor takes a few words of memory that all workers share. */
const MAX_ACTIVE = 100_000;
const MAX_QUEUE = 100_000;
const DAY_MS = 86_400_000;
const MIN_SECRET_CHARS = 16;
/** Without `per_address`: a tenth of the room, and so many at least. */
const ADDRESS_SHARE = 10;
const MIN_PER_ADDRESS = 10;

/** `waiting_room` of a route. docs/waiting-room.md */
export const waitingRoom = block(
  {
    active: {
      type: integer(1, MAX_ACTIVE),
      required: "how many visitors may be in at once, such as active: 500",
      example: 500,
      doc: "most visitors inside at once, in all workers",
    },
    session: {
      type: duration(1000, DAY_MS),
      default: "10m",
      doc: "a visitor without a request for this time has left",
    },
    queue: {
      type: integer(0, MAX_QUEUE),
      default: 10_000,
      doc: "most visitors that wait; more get no place in the queue",
    },
    patience: {
      type: duration(1000, 3_600_000),
      default: "90s",
      doc: "a waiting visitor whose page has not called for this time has left",
    },
    per_address: {
      type: integer(0, MAX_ACTIVE + MAX_QUEUE),
      default: 0,
      doc: "most visitors of one address, inside and waiting; 0: a tenth of active, at least 10",
    },
    exempt: {
      type: list(pathPattern(), "paths"),
      example: ["/health", "/assets/*"],
      doc: "paths without a waiting room: exact, or with * at the end",
    },
    secret: {
      type: secret("the secret"),
      absent: "",
      example: "${EDGE_ROOM_SECRET:-0123456789abcdef}",
      doc: "the key that signs cookies; use the same on all machines of a fleet",
    },
  },
  {
    shorthand: "active",
    check({ secret: key, exempt }, { log, path }) {
      if (key !== "" && key.length < MIN_SECRET_CHARS)
        log.fault([...path, "secret"], `expected a secret of ${MIN_SECRET_CHARS} characters at least`);
      if (exempt.includes("/*")) log.warn([...path, "exempt"], "opens every path: no visitor waits");
    },
  },
);

type WaitingRoomConfig = ConfigOf<typeof waitingRoom>;

/** How many visitors one address may have in a room. */
export function shareOfAddress({ perAddress, active }: WaitingRoomConfig): number {
  return perAddress > 0 ? perAddress : Math.max(MIN_PER_ADDRESS, Math.ceil(active / ADDRESS_SHARE));
}
