import { plainLine } from "../../../../core/printable.ts";
import { type OutboundResponse, outboundRequest } from "../../../../net/outbound-request.ts";

/** A zone of an account. */
export interface Zone {
  /** As the provider's requests name it. */
  readonly id: string;
  /** Without a final dot. */
  readonly name: string;
}

/** A DNS provider: its requests for zones and TXT records. Names have no final dot. */
export interface DnsProvider {
  /** The account's zone of exactly this name; null for none. */
  zone(name: string): Promise<Zone | null>;
  /** Adds a record beside others of its name. @returns a handle for `remove`, or "" */
  add(zone: Zone, name: string, value: string): Promise<string>;
  /** Removes this record and no other of its name. @param handle of `add`; "" after a restart */
  remove(zone: Zone, name: string, value: string, handle: string): Promise<void>;
}

/** A request to a provider. */
export interface ZoneCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the endpoint, with its slash and query. */
  readonly path: string;
  /** JSON, or the text itself. */
  readonly body?: object | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The fields that sign or authorise a request. */
type Authorise = (
  call: ZoneCall,
  url: string,
  body: string,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;

/** A refusal by a provider, with its cure, fit for one log line. */
export class ProviderFault extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** The requests to one provider, each with bounds of time and size. */
export class ZoneClient {
  private readonly name: string;
  private readonly endpoint: string;
  private readonly authorise: Authorise;

  /** @param name of the provider @param endpoint a URL without a final slash */
  constructor(name: string, endpoint: string, authorise: Authorise) {
    this.name = name;
    this.endpoint = endpoint;
    this.authorise = authorise;
  }

  /** The JSON of a response; null for a response without content. @throws ProviderFault for any status but 2xx */
  async json<T>(call: ZoneCall): Promise<T> {
    const { body } = await this.send(call);
    const text = Buffer.from(body).toString("utf8");
    if (text.trim() === "") return null as T;
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new ProviderFault(`${this.label(call)}: the response is no JSON`, 0);
    }
  }

  /** The same, and null for 404. */
  async found<T>(call: ZoneCall): Promise<T | null> {
    try {
      return await this.json<T>(call);
    } catch (error) {
      if (error instanceof ProviderFault && error.status === NOT_FOUND) return null;
      throw error;
    }
  }

  /** The text of a response. @throws ProviderFault for any status but 2xx */
  async text(call: ZoneCall): Promise<string> {
    return Buffer.from((await this.send(call)).body).toString("utf8");
  }

  private async send(call: ZoneCall): Promise<OutboundResponse> {
    const { method, path, body: given } = call;
    const url = this.endpoint + path;
    const body = given === undefined ? "" : typeof given === "string" ? given : JSON.stringify(given);
    const type: Record<string, string> = typeof given === "object" ? { "Content-Type": "application/json" } : {};
    const headers = {
      Accept: "application/json",
      ...type,
      ...call.headers,
      ...(await this.authorise(call, url, body)),
    };
    let response: OutboundResponse;
    try {
      response = await outboundRequest({
        url,
        method,
        headers,
        ...(given === undefined ? {} : { body }),
        ca: "",
        timeoutMs: CALL_MS,
        maxBytes: MAX_REPLY_BYTES,
        wants: "all",
      });
    } catch (error) {
      throw new ProviderFault(`${this.label(call)}: ${(error as Error).message}`, 0);
    }
    if (response.status >= 200 && response.status < 300) return response;
    const said = plainLine(Buffer.from(response.body).toString("utf8")).trim().slice(0, MAX_SAID);
    const cure = CURES[response.status] ?? "";
    throw new ProviderFault(
      `${this.label(call)}: ${response.status}${cure}${said === "" ? "" : `: ${said}`}`,
      response.status,
    );
  }

  private label({ method, path }: ZoneCall): string {
    return `${this.name}: ${method} ${path.split("?")[0]}`;
  }
}

/** A name below a zone as providers want it: relative, and "@" for the zone itself. */
export function relativeName(name: string, zone: Zone): string {
  return name === zone.name ? "@" : name.slice(0, -zone.name.length - 1);
}

/** The value of a TXT record as it stands in zone files. */
export function recordText(value: string): string {
  return `"${value}"`;
}

const NOT_FOUND = 404;
/** Seconds that resolvers keep a record: it is gone soon. */
export const RECORD_TTL_S = 60;
const CALL_MS = 20_000;
const MAX_REPLY_BYTES = 1_048_576;
const MAX_SAID = 200;
const CURES: Readonly<Record<number, string>> = {
  401: " (check the credentials in server.acme.dns)",
  403: " (the credentials in server.acme.dns may not edit this zone: give them that right)",
  429: " (too many requests: it is tried again later)",
};
