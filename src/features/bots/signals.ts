import { latin1 } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import { prefersHtml } from "../../proto/semantics/accept.ts";
import { isKey } from "../../proto/websocket/handshake.ts";
import type { AgentFacts } from "./agents.ts";

/** Something that no browser does. */
interface Signal {
  /** For the log and the metric. */
  readonly name: string;
  shows(ex: Exchange, facts: AgentFacts): boolean;
}

/**
 * What makes a request suspicious; one is enough. Each is something that the browsers of today never do, so that people are not
 * asked; a program that says honestly what it is, and is on no list, shows none. Why each one: docs/bots.md#what-is-suspicious
 */
export const SIGNALS: readonly Signal[] = [
  { name: "no_user_agent", shows: (_, { isEmpty }) => isEmpty },
  { name: "repeated_user_agent", shows: ({ request }) => isRepeated(request.headers, HeaderId.UserAgent) },
  { name: "scraper", shows: (_, { isScraper }) => isScraper },
  { name: "no_engine", shows: (_, { claimsBrowser, hasEngine }) => claimsBrowser && !hasEngine },
  { name: "http10", shows: (ex, facts) => facts.claimsBrowser && isHttp10(ex) },
  { name: "no_accept", shows: (ex, facts) => isFetch(ex, facts) && ex.request.headers.find(HeaderId.Accept) < 0 },
  {
    name: "no_accept_language",
    shows: (ex, facts) =>
      isFetch(ex, facts) && !hasField(ex.request.headers, ACCEPT_LANGUAGE) && prefersHtml(ex.request.headers),
  },
  {
    name: "no_fetch_metadata",
    shows: (ex, facts) =>
      facts.sendsFetchMetadata &&
      isFetch(ex, facts) &&
      requestScheme(ex) === "https" &&
      !hasField(ex.request.headers, SEC_FETCH_MODE),
  },
];

/** The signal of a client that names a crawler and is not at its operator's. */
export const FALSE_CRAWLER = "crawler";

/** The name of the first signal that a request shows; "" for none. */
export function signalOf(ex: Exchange, facts: AgentFacts): string {
  for (let i = 0; i < SIGNALS.length; i++) if (SIGNALS[i]!.shows(ex, facts)) return SIGNALS[i]!.name;
  return "";
}

/** Whether it is the handshake of a WebSocket with all that a browser sends; another upgrade is none of a browser's. RFC 6455 §4.1 */
export function opensSocket({ upgrade, method, headers }: RequestHead): boolean {
  if (!upgrade || method !== Method.Get || headers.find(HeaderId.Origin) < 0) return false;
  if (headers.valueOf(HeaderId.Upgrade).toLowerCase() !== "websocket") return false;
  return isKey(textOf(headers, SEC_WEBSOCKET_KEY)) && textOf(headers, SEC_WEBSOCKET_VERSION) === "13";
}

/** Whether a browser gets a page, or a part of one: its reports, beacons and WebSockets lack some of the fields. */
function isFetch({ request }: Exchange, { claimsBrowser }: AgentFacts): boolean {
  return claimsBrowser && !opensSocket(request) && (request.method === Method.Get || request.method === Method.Head);
}

/** Proxies speak HTTP/1.0 for clients that do not: nginx by default. */
function isHttp10({ request: { major, minor }, fromTrustedProxy }: Exchange): boolean {
  return major === 1 && minor === 0 && !fromTrustedProxy;
}

function isRepeated(headers: HeaderBlock, id: HeaderId): boolean {
  const first = headers.find(id);
  return first >= 0 && headers.find(id, first + 1) >= 0;
}

function hasField(headers: HeaderBlock, lowerName: Uint8Array): boolean {
  return headers.findNamed(lowerName) >= 0;
}

/** The value of the first field of the name; "" if there is none. */
function textOf(headers: HeaderBlock, lowerName: Uint8Array): string {
  const at = headers.findNamed(lowerName);
  return at < 0 ? "" : headers.valueText(at);
}

const ACCEPT_LANGUAGE: Uint8Array = latin1("accept-language");
const SEC_FETCH_MODE: Uint8Array = latin1("sec-fetch-mode");
const SEC_WEBSOCKET_KEY: Uint8Array = latin1("sec-websocket-key");
const SEC_WEBSOCKET_VERSION: Uint8Array = latin1("sec-websocket-version");
