import type { IncomingMessage, RequestOptions } from "node:http";
import { resolve } from "node:path";
import { HANDING_OVER } from "../core/handing-over.ts";
import { hostAndPort } from "../core/ip-address.ts";
import { readableSections } from "../loading/load-config.ts";
import { isLoopback } from "../message/client-peer.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { type ServerListener, siteOf } from "../settings/server-listeners.ts";
import type { CommandIo } from "./command-io.ts";
import { CONFIG_FLAGS } from "./config-flags.ts";
import { moreLine } from "./help/more.ts";
import { loadRequest } from "./load-for-request.ts";
import { runningWith } from "./running-gateway.ts";

/** The flags that say where a running gateway is. */
export const PLACE_FLAGS = [
  {
    name: "socket",
    type: "string",
    default: "",
    placeholder: "PATH",
    help: "the gateway's UNIX socket (internal_api.socket)",
  },
  {
    name: "url",
    type: "string",
    default: "",
    placeholder: "URL",
    help: "URL of its internal endpoints, such as http://127.0.0.1:8080; EDGE_TOKEN holds the token",
  },
] as const;

/** The flags of commands that talk to a running gateway. docs/tools.md#a-running-gateway */
export const GATEWAY_FLAGS = [...PLACE_FLAGS, ...CONFIG_FLAGS] as const;

/** What these flags say. */
export interface GatewayFlags {
  readonly socket: string;
  readonly url: string;
  readonly config: string;
  readonly routes: string;
}

/** What a running gateway has answered. */
export interface GatewayResponse {
  readonly status: number;
  readonly text: string;
  /** The value of ETag; "" without one. */
  readonly etag: string;
}

/** No response came, or none that can be used; the message is for people. */
export class GatewayFault extends Error {
  /** @param isFound whether a gateway is there and has said why: then there is no advice on how to find one */
  constructor(message: string, isFound = false) {
    super(isFound ? message : `${message}\n${moreLine(["gateway-not-found"]).trimEnd()}`);
  }
}

/** A running gateway, by its internal endpoints. */
export class GatewayApi {
  /** How the address is written for people: a URL, or `unix:/run/edge.sock`. */
  readonly label: string;
  private readonly options: RequestOptions;
  private readonly isSecure: boolean;
  private readonly base: string;

  /**
   * @param place a path of a UNIX socket, or a URL of http or https
   * @param token "" if none is sent
   * @param isOwn whether the certificate need not be checked: the address is that of this machine's own configuration
   */
  constructor(place: { readonly socketPath: string } | { readonly url: URL }, token: string, isOwn = false) {
    const auth = token === "" ? {} : { Authorization: `Bearer ${token}` };
    if ("socketPath" in place) {
      this.label = `unix:${place.socketPath}`;
      this.options = { socketPath: place.socketPath, headers: { Host: "localhost", ...auth } };
      this.isSecure = false;
      this.base = "";
      return;
    }
    const { url } = place;
    this.label = url.href.replace(/\/$/, "");
    this.isSecure = url.protocol === "https:";
    this.options = {
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? (this.isSecure ? 443 : 80) : Number(url.port),
      headers: auth,
      ...(isOwn ? { rejectUnauthorized: false } : {}),
    };
    this.base = url.pathname.replace(/\/$/, "");
  }

  /**
   * Asks for a document.
   * @param path with its slash and query, such as `/internal/api/status`
   * @throws GatewayFault if no response has come, or one that is too long
   */
  get(path: string): Promise<GatewayResponse> {
    return this.ask("GET", path, null, ANSWER_LIMIT_MS);
  }

  /**
   * The JSON of a document.
   * @throws GatewayFault, also if the status is not 200
   */
  async json<T>(path: string): Promise<T> {
    const { status, text } = await this.get(path);
    if (status !== 200) throw this.refused(path, status, text);
    return this.parsed(path, text) as T;
  }

  /**
   * Asks for an action.
   * @param timeoutMs how long the response may take
   * @throws GatewayFault as `get`
   */
  post(path: string, body: object, timeoutMs: number = ANSWER_LIMIT_MS): Promise<GatewayResponse> {
    return this.ask("POST", path, JSON.stringify(body), timeoutMs);
  }

  /**
   * Makes any other call. While one process hands over to another, it asks again until the new one takes the call.
   * @param body JSON or YAML; null for none
   * @throws GatewayFault as `get`
   */
  async call(
    method: string,
    path: string,
    body: string | null,
    fields: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<GatewayResponse> {
    const untilMs = performance.now() + HANDOVER_LIMIT_MS;
    for (;;) {
      const reply = await this.collected(path, await this.send(method, path, body, timeoutMs, fields), timeoutMs);
      const isHandedOver = reply.status === 503 && reply.text.includes(HANDING_OVER);
      if (!isHandedOver || performance.now() > untilMs) return reply;
      await Bun.sleep(HANDOVER_PAUSE_MS);
    }
  }

  /**
   * Opens the stream of live numbers. docs/dashboard.md#the-stream
   * @returns a response to be destroyed by the caller
   * @throws GatewayFault if no stream has come
   */
  async openStream(): Promise<IncomingMessage> {
    const response = await this.send("GET", STREAM, null, ANSWER_LIMIT_MS);
    if (response.statusCode === 200) return response;
    const { status, text } = await this.collected(STREAM, response, ANSWER_LIMIT_MS);
    throw this.refused(STREAM, status, text);
  }

  /** What to tell an operator whose call was refused. */
  refused(path: string, status: number, text: string): GatewayFault {
    let message = "";
    try {
      message = String((JSON.parse(text) as { message?: unknown }).message ?? "");
    } catch {
      // A page, or nothing: the status says it.
    }
    const isStranger = status === 404 && message === "";
    const cure = status === 401 ? " (set EDGE_TOKEN, or use --socket)" : isStranger ? " (is this an edge?)" : "";
    const isFound = message !== "" && status !== 401 && status !== 403;
    return new GatewayFault(`${this.label}${path}: ${status}${message === "" ? "" : ` ${message}`}${cure}`, isFound);
  }

  /** @throws GatewayFault for a text that is no JSON */
  parsed(path: string, text: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw new GatewayFault(`${this.label}${path}: the response is no JSON; is this an edge?`);
    }
  }

  private ask(method: string, path: string, body: string | null, timeoutMs: number): Promise<GatewayResponse> {
    return this.call(method, path, body, {}, timeoutMs);
  }

  private async collected(path: string, response: IncomingMessage, timeoutMs: number): Promise<GatewayResponse> {
    const pieces: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => response.destroy(), timeoutMs);
    try {
      for await (const piece of response) {
        length += (piece as Buffer).length;
        if (length > MAX_ANSWER_BYTES) throw new GatewayFault(`${this.label}${path}: the response is too long`);
        pieces.push(piece as Buffer);
      }
    } catch (error) {
      if (error instanceof GatewayFault) throw error;
      throw new GatewayFault(`${this.label}${path}: the response broke off: ${(error as Error).message}`);
    } finally {
      clearTimeout(timer);
      response.destroy();
    }
    const { statusCode = 0, headers } = response;
    return { status: statusCode, text: Buffer.concat(pieces).toString("utf8"), etag: headers.etag ?? "" };
  }

  /** The runtime's `fetch` would go by the proxy that the environment names. */
  private async send(
    method: string,
    path: string,
    body: string | null,
    timeoutMs: number,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<IncomingMessage> {
    const { request } = this.isSecure ? await import("node:https") : await import("node:http");
    const headers = {
      ...this.options.headers,
      Accept: "application/json, text/event-stream, text/plain",
      ...(body === null
        ? {}
        : { "Content-Type": "application/json", "Content-Length": String(Buffer.byteLength(body)) }),
      ...fields,
    };
    const tried = (options: RequestOptions): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => call.destroy(new Error("timeout")), timeoutMs);
        const call = request({ ...options, method, path: this.base + path, headers, agent: false }, (response) => {
          clearTimeout(timer);
          resolve(response);
        });
        call.on("error", (error) => {
          clearTimeout(timer);
          reject(error);
        });
        call.end(body ?? undefined);
      });
    const lost = (error: Error): never => {
      throw new GatewayFault(`no gateway answers at ${this.label}: ${reasonOf(error)}`);
    };
    return tried(this.options).catch((error: Error) => {
      const { host } = this.options;
      if (!CLOSED.has((error as { code?: string }).code ?? "") || !(host === "localhost" || isLoopback(host ?? "")))
        return lost(error);
      // This machine's usual address may be banned, and the operator wants to lift that.
      return tried({ ...this.options, host: "127.0.0.1", localAddress: otherLoopback() }).catch(() => lost(error));
    });
  }
}

/**
 * The gateway that the flags name: `--socket`, `--url`, or the one that would be started with the same configuration.
 * @param io takes the reason if there is none
 * @param name of the command, such as `edge status`
 */
export function findGateway(flags: GatewayFlags, io: CommandIo, name: string): GatewayApi | null {
  return findGateways(flags, io, name)[0] ?? null;
}

/** The same by every way in that the configuration has, the one that asks for least first; none where `io` has learned why. */
export function findGateways(flags: GatewayFlags, io: CommandIo, name: string): readonly GatewayApi[] {
  const { socket, url } = flags;
  const token = process.env.EDGE_TOKEN ?? "";
  if (socket !== "") return [new GatewayApi({ socketPath: socket }, token)];
  if (url !== "") {
    const parsed = URL.parse(/^https?:\/\//i.test(url) ? url : `http://${url}`);
    if (parsed !== null && parsed.hostname !== "") return [new GatewayApi({ url: parsed }, token)];
    io.err(`${name}: --url: expected a URL such as http://127.0.0.1:8080, found ${JSON.stringify(url)}\n`);
    return [];
  }
  const read = readableSections(loadRequest(flags));
  const shown = token === "" ? (read?.sections.internalApi.token ?? "") : token;
  const running = read === null || read.isFaulty ? runningGateways(flags, shown, io, name) : [];
  const found = [...running, ...(read === null ? [] : gatewaysOf(read.sections, token))];
  if (found.length === 0)
    io.err(`${name}: ${read === null ? UNREADABLE : NOWHERE}\n${moreLine(["gateway-not-found"])}`);
  return found;
}

/** While config.yaml is wrong: the gateways that were started with them before. */
function runningGateways(flags: GatewayFlags, token: string, io: CommandIo, name: string): readonly GatewayApi[] {
  const [running] = runningWith(resolve(flags.config || "config.yaml"));
  if (running === undefined) return [];
  io.err(
    `${name}: asks process ${running.pid}, which was started with these files: config.yaml is not in order (edge check)\n`,
  );
  const found = running.sockets.map((socketPath) => new GatewayApi({ socketPath }, ""));
  for (const scheme of ["http", "https"])
    for (const { host, port } of running.ports)
      found.push(new GatewayApi({ url: urlOf(scheme, host, port) }, token, true));
  return found;
}

/**
 * The gateways that may serve a configuration on this machine, the way in that asks for least first.
 * @param token in place of that of the configuration; "" for that one
 */
function gatewaysOf(
  { server, internalApi }: Pick<RuntimeConfig, "server" | "internalApi">,
  token: string,
): GatewayApi[] {
  const shown = token === "" ? internalApi.token : token;
  const { socket, listenHost, listenPort } = internalApi;
  const found: GatewayApi[] = [];
  if (socket !== "") found.push(new GatewayApi({ socketPath: socket }, ""));
  if (listenPort >= 0) found.push(new GatewayApi({ url: urlOf("http", listenHost, listenPort) }, shown));
  // What is behind a load balancer, and what redirects, comes last: a gateway may not have taken that up yet.
  const places = server.listeners.filter((one) => !one.tls || siteOf(one, server).clientAuth !== "require");
  const rank = (one: ServerListener) => Number(one.redirectsHttps) * 2 + Number(one.tls);
  for (const one of places.toSorted((a, b) => rank(a) - rank(b))) {
    if (one.port <= 0) continue;
    const url = urlOf(one.tls ? "https" : "http", one.host, one.port);
    found.push(one.tls ? new GatewayApi({ url }, shown, true) : new GatewayApi({ url }, shown));
  }
  return found;
}

const UNREADABLE = "config.yaml cannot be read (edge check says why): use --socket or --url";
const NOWHERE = "the configuration has no address of the internal endpoints: set internal_api.socket, or use --url";

function urlOf(scheme: string, host: string, port: number): URL {
  const named = host === "0.0.0.0" || host === "" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return new URL(`${scheme}://${hostAndPort(named, port)}/`);
}

function reasonOf(error: Error): string {
  const code = (error as { code?: string }).code ?? "";
  return HINTS[code] ?? (code === "" ? error.message : code);
}

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused; is it running?",
  ConnectionRefused: "connection refused; is it running?",
  ENOENT: "no such socket; is it running?",
  FailedToOpenSocket: "the socket cannot be opened; is it running, and may this user open it?",
  EACCES: "permission denied; the mode of the socket says who may",
};
/** Codes of a connection that was closed before it said anything. */
const CLOSED: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);

/** An address of this machine that no other program is likely to use. */
function otherLoopback(): string {
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint8Array(3));
  return `127.${a}.${b}.${2 + (c % 250)}`;
}

const STREAM = "/internal/api/stream";
/** A process that does not serve after 30 s is ended, and the one before it goes on. */
const HANDOVER_LIMIT_MS = 35_000;
const HANDOVER_PAUSE_MS = 100;
const ANSWER_LIMIT_MS = 15_000;
/** The list of a hundred thousand routes is smaller. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
