import { bracketed, isEveryAddress } from "../core/ip-address.ts";
import { exactly } from "../core/number-text.ts";
import { printable } from "../core/printable.ts";
import { acmeOrders } from "../features/acme/orders.ts";
import { isLoopback } from "../message/client-peer.ts";
import { labelOf } from "../routes/route-base.ts";
import { routeTypeOf } from "../routes/route-types.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { type ListenerName, withPorts } from "../worker/listeners.ts";

/** What the summary of a start tells beside the configuration. */
export interface SummaryFacts {
  readonly version: string;
  readonly pid: number;
  readonly workers: number;
  /** The ports that the listeners have. */
  readonly ports: ReadonlyMap<ListenerName, number>;
  /** What the log says in `start` events otherwise. */
  readonly notes: readonly string[];
}

/** How it is told. */
export interface SummaryStyle {
  readonly hasColor: boolean;
  /** Folders within it are shown without it. */
  readonly cwd: string;
}

/**
 * What a person at a terminal learns when the gateway serves, in place of the `start` and `listening` lines of the log: addresses,
 * routes, what is on. Lines are kept to 80 columns. docs/operations.md#the-start-on-a-terminal
 */
export function startSummary(config: RuntimeConfig, facts: SummaryFacts, style: SummaryStyle): string {
  const effective = withPorts(config, facts.ports);
  const paint = style.hasColor ? COLORED : PLAIN;
  const links = addresses(effective);
  const first = links[0]?.url ?? "";
  const parts = [
    [
      paint.strong(`edge ${facts.version} serves`) +
        paint.faint(`, ${exactly(facts.workers, "worker")}, process ${facts.pid}`),
    ],
    linkLines(links, paint),
    ["Routes", ...routeLines(effective, style).map((line) => `  ${line}`)],
    switchLines(effective),
    first === "" || effective.internalApi.listenPort >= 0
      ? []
      : [`Dashboard: ${first}internal/`, `Metrics:   ${first}metrics`, `Health:    ${first}health`],
    facts.notes.flatMap((note) => wrapped("Note: ", printable(note).split(" "), " ")),
    [paint.faint(`Ctrl-C ends it; kill -HUP ${facts.pid} reads the files again.`)],
  ];
  return `\n${parts.flatMap((lines) => (lines.length === 0 ? [] : [...lines, ""])).join("\n")}\n`;
}

/** Whether text for people may have colors. https://no-color.org */
export function mayColor(env: Readonly<Record<string, string | undefined>>): boolean {
  return (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb";
}

interface Address {
  readonly url: string;
  readonly note: string;
}

/** An address is never cut: it could not be followed. */
function linkLines(links: readonly Address[], paint: Paint): string[] {
  const width = Math.min(MAX_CELL, Math.max(...links.map(({ url }) => url.length)));
  return links.map(
    ({ url, note }) => `  ${paint.link(url)}${" ".repeat(Math.max(0, width - url.length))}  ${paint.faint(note)}`,
  );
}

/** Where a browser finds the gateway; those that lead furthest come first. */
function addresses(config: RuntimeConfig): Address[] {
  const { server, sidecar, internalApi } = config;
  const { tls } = server;
  const found: Address[] = [];
  const names = tls.enabled ? acmeOrders(config).flatMap((order) => order.names) : [];
  const domains = names.filter((name) => !name.startsWith("*"));
  for (const domain of domains.slice(0, MAX_DOMAINS)) {
    found.push({ url: link("https", domain, tls.port), note: "certificate by ACME" });
  }
  // Those of ACME name the first one with TLS.
  const shown = server.listeners.filter((one) => !one.tls || domains.length === 0 || server.isListed);
  for (const one of shown.toSorted((a, b) => Number(b.tls) - Number(a.tls)).slice(0, MAX_LISTENERS)) {
    const { name, host, port, socket, redirectsHttps } = one;
    const url = socket === "" ? link(one.tls ? "https" : "http", host, port) : `unix:${socket}`;
    const note = redirectsHttps ? "redirects to https" : socket === "" ? reach(host) : "";
    found.push({ url, note: server.isListed ? [name, note].filter((text) => text !== "").join(", ") : note });
  }
  if (shown.length > MAX_LISTENERS)
    found.push({ url: `and ${shown.length - MAX_LISTENERS} more`, note: "edge check names them" });
  if (internalApi.listenPort >= 0) {
    found.push({
      url: `${link("http", internalApi.listenHost, internalApi.listenPort)}internal/`,
      note: "dashboard and internal endpoints",
    });
  }
  if (internalApi.socket !== "") found.push({ url: `unix:${internalApi.socket}`, note: "internal endpoints" });
  if (sidecar.enabled && sidecar.mode !== "egress") {
    found.push({ url: link("http", sidecar.ingressHost, sidecar.ingressPort), note: "sidecar, inbound" });
  }
  if (sidecar.enabled && sidecar.mode !== "ingress") {
    found.push({ url: link("http", sidecar.egressHost, sidecar.egressPort), note: "sidecar, outbound" });
  }
  return found;
}

function link(scheme: "http" | "https", host: string, port: number): string {
  const named = isEveryAddress(host) ? "localhost" : host;
  return `${scheme}://${bracketed(named)}${port === (scheme === "http" ? 80 : 443) ? "" : `:${port}`}/`;
}

function reach(host: string): string {
  if (isEveryAddress(host)) return "every address of this machine";
  return host === "localhost" || isLoopback(host) ? "this machine only" : "";
}

/** The first routes in the order of the file, one a line. */
function routeLines({ routes, transcoder, streams }: RuntimeConfig, { cwd }: SummaryStyle): string[] {
  const transcoded = transcoder.enabled ? transcoder.routes : [];
  const rows = routes.slice(0, MAX_ROUTES).map((route) => {
    const [host, more] = route.hosts;
    const name = `${host ?? ""}${more === undefined ? "" : ",…"}${labelOf(route)}${route.match === null && (route.regex === "" || route.isByRegex) ? "" : " match"}`;
    const leadsTo = routeTypeOf(route).leadsTo?.(route) ?? "";
    return [name, route.type, leadsTo.startsWith(`${cwd}/`) ? `.${leadsTo.slice(cwd.length)}` : leadsTo];
  });
  for (const { httpPath, grpcMethod } of transcoded.slice(0, MAX_ROUTES - rows.length)) {
    rows.push([httpPath, "gRPC", grpcMethod]);
  }
  for (const { path, type, targets } of streams.slice(0, MAX_ROUTES - rows.length)) {
    rows.push([path, type, targets[0]!.url]);
  }
  const left = routes.length + transcoded.length + streams.length - rows.length;
  const lines = table(rows).map((cells) => cells.join("").trimEnd());
  if (lines.length === 0) return ["none: only the endpoints of the gateway itself are served"];
  return left === 0 ? lines : [...lines, `and ${left} more: edge check --print`];
}

function switchLines({ server, routes, sidecar, transcoder }: RuntimeConfig): string[] {
  const switches: readonly (readonly [string, boolean])[] = [
    [`firewall${server.waf.enabled ? ` (${server.waf.mode})` : ""}`, server.waf.enabled],
    ["TLS", server.tls.enabled],
    ["HTTP/3", server.http3.enabled],
    ["cache", server.cache.enabled],
    ["compression", server.compression.enabled],
    ["rate limit", server.rateLimit.enabled || routes.some(({ rateLimit }) => rateLimit.enabled)],
    ["CORS", server.cors.enabled],
    ["security headers", server.securityHeaders.enabled],
    ["access log", server.accessLog.enabled],
    ["metrics", true],
  ];
  const rare = [...(sidecar.enabled ? ["sidecar"] : []), ...(transcoder.enabled ? ["transcoder"] : [])];
  const named = (isOn: boolean) => switches.flatMap(([name, state]) => (state === isOn ? [name] : []));
  const [on, off] = [[...named(true), ...rare], named(false)];
  return [...wrapped("On:  ", on, ", "), ...wrapped("Off: ", off, ", ")];
}

/** Words in lines of 80 columns, those after the first indented like what follows the label. */
function wrapped(label: string, words: readonly string[], separator: string): string[] {
  const lines: string[] = [];
  let line = label;
  words.forEach((word, index) => {
    const piece = index === words.length - 1 ? word : word + separator;
    if (line.length > label.length && line.length + piece.trimEnd().length > LINE_COLUMNS + 2) {
      lines.push(line.trimEnd());
      line = " ".repeat(label.length);
    }
    line += piece;
  });
  return words.length === 0 ? [] : [...lines, line.trimEnd()];
}

/** Columns of one width, two spaces apart; cells that are too long are cut, so that a line with its indent fits 80 columns. */
function table(rows: readonly (readonly string[])[]): string[][] {
  const texts = rows.map((row) => row.map(printable));
  const widths = (texts[0] ?? []).map((_, column) => {
    const widest = Math.max(...texts.map((row) => row[column]!.length));
    return Math.min(widest, MAX_CELL);
  });
  return texts.map((row) => {
    let room = LINE_COLUMNS;
    return row.map((cell, column) => {
      const isLast = column === row.length - 1;
      const width = isLast ? room : widths[column]! + 2;
      room -= width;
      const cut = cell.length > width - (isLast ? 0 : 2) ? `${cell.slice(0, width - (isLast ? 1 : 3))}…` : cell;
      return isLast ? cut : cut.padEnd(width);
    });
  });
}

type Paint = Readonly<Record<"strong" | "faint" | "link", (text: string) => string>>;

const PLAIN: Paint = { strong: (text) => text, faint: (text) => text, link: (text) => text };
const COLORED: Paint = {
  strong: (text) => `\x1b[1m${text}\x1b[0m`,
  faint: (text) => `\x1b[2m${text}\x1b[0m`,
  link: (text) => `\x1b[36m${text}\x1b[0m`,
};

const MAX_ROUTES = 10;
const MAX_DOMAINS = 3;
const MAX_LISTENERS = 10;
const MAX_CELL = 44;
/** 80, less the indent. */
const LINE_COLUMNS = 78;
