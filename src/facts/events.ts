import type { EventRow, EventWriter, FieldsOf } from "../core/event-row.ts";
import { ACME_EVENTS } from "../features/acme/events.ts";
import { AGENT_EVENTS } from "../features/agents/events.ts";
import { AUTH_EVENTS } from "../features/auth/events.ts";
import { BAN_EVENTS } from "../features/bans/events.ts";
import { BOT_EVENTS } from "../features/bots/events.ts";
import { CACHE_EVENTS } from "../features/cache/events.ts";
import { CANARY_EVENTS } from "../features/canary/events.ts";
import { FLEET_EVENTS, REMOTE_EVENTS } from "../features/fleet/events.ts";
import { FUNCTION_EVENTS } from "../features/functions/events.ts";
import { GEO_EVENTS } from "../features/geo/events.ts";
import { INGEST_EVENTS } from "../features/ingest/events.ts";
import { KUBERNETES_EVENTS } from "../features/kubernetes/events.ts";
import { LIMIT_EVENTS } from "../features/limit/events.ts";
import { LIST_EVENTS } from "../features/lists/events.ts";
import { MIRROR_EVENTS } from "../features/mirror/events.ts";
import { OVERLOAD_EVENTS } from "../features/overload/events.ts";
import { PAGE_EVENTS } from "../features/pages/events.ts";
import { PROVIDER_EVENTS } from "../features/providers/events.ts";
import { ROUTE_EVENTS } from "../features/route/events.ts";
import { SIDECAR_EVENTS } from "../features/sidecar/events.ts";
import type { EventLog } from "../features/telemetry/event-log.ts";
import { REFUSAL_EVENTS, TELEMETRY_EVENTS } from "../features/telemetry/events.ts";
import { TLS_EVENTS } from "../features/tls/events.ts";
import { TRANSCODE_EVENTS } from "../features/transcode/events.ts";
import { WAF_EVENTS } from "../features/waf/events.ts";
import { GATEWAY_EVENTS } from "./gateway-events.ts";

/**
 * All events but `access`, whose fields are in ACCESS_FIELDS, and `stream` (docs/streams.md#log), in the order in which they are shown: a new one is
 * a row of its owner, and the call that writes it. A flood is seen in the counters and must not drown the log: what a client can cause without
 * being heard has a bound.
 */
export const EVENTS = {
  ...GATEWAY_EVENTS,
  ...CACHE_EVENTS,
  ...FUNCTION_EVENTS,
  ...MIRROR_EVENTS,
  ...INGEST_EVENTS,
  ...WAF_EVENTS,
  ...ROUTE_EVENTS,
  ...REFUSAL_EVENTS,
  ...LIMIT_EVENTS,
  ...PAGE_EVENTS,
  ...OVERLOAD_EVENTS,
  ...CANARY_EVENTS,
  ...AUTH_EVENTS,
  ...AGENT_EVENTS,
  ...BOT_EVENTS,
  ...BAN_EVENTS,
  ...TRANSCODE_EVENTS,
  ...TLS_EVENTS,
  ...ACME_EVENTS,
  ...GEO_EVENTS,
  ...LIST_EVENTS,
  ...SIDECAR_EVENTS,
  ...FLEET_EVENTS,
  ...REMOTE_EVENTS,
  ...PROVIDER_EVENTS,
  ...KUBERNETES_EVENTS,
  ...TELEMETRY_EVENTS,
} as const;

/** The name of an event. */
export type EventName = keyof typeof EVENTS;

/** The fields of one event. */
export type FieldsOfEvent<Name extends EventName> = FieldsOf<(typeof EVENTS)[Name]>;

/** The log of one thread, with all events. */
export type GatewayLog = EventLog<typeof EVENTS>;

/** Writes any event: its fields are those of its row, or it does not compile. */
export type WriteEvent = EventWriter<typeof EVENTS>;

/** The fields of an event with what each holds, for people: "`error`: the reason". */
export function fieldTexts({ fields, isOpen = false }: EventRow): readonly string[] {
  const texts = Object.entries(fields).map(
    ([name, { meaning, isOptional }]) => `\`${name}\`${isOptional ? " (optional)" : ""}: ${meaning}`,
  );
  return isOpen ? [...texts, "others, which the writer chooses"] : texts;
}
