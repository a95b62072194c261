import { ExtraFields } from "../../message/extra-fields.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { CorsConfig } from "./settings.ts";

/** What `server.cors` allows, as the fields that say so. Fetch Standard §3.2, docs/guards.md#cors */
export class CorsPolicy {
  /** The response to a preflight of an allowed origin; a head tap adds what every response to that origin carries. */
  readonly preflight: PrebuiltResponse;
  /** For all origins, where all are allowed. */
  private readonly forAny: ExtraFields | null;
  private readonly byOrigin: ReadonlyMap<string, ExtraFields>;

  constructor(config: CorsConfig) {
    const isAny = config.allowedOrigins.includes("*");
    // With one response for all origins a cache needs not tell them apart, and gets that response whichever origin asks first.
    this.forAny = isAny ? originFields("*", config, []) : null;
    this.byOrigin = new Map(
      isAny ? [] : config.allowedOrigins.map((origin) => [origin, originFields(origin, config, [VARY])]),
    );
    this.preflight = new PrebuiltResponse(204, preflightFields(config), "");
  }

  /**
   * What every response to a request with these fields carries. The allowed origin is told whatever the response is, so that
   * a page can read why it was refused.
   */
  fieldsFor(headers: HeaderBlock): ExtraFields {
    return this.forAny ?? this.fieldsForOrigin(headers) ?? OTHER_ORIGIN;
  }

  /** Whether the request comes from a page that may use the gateway. */
  allows(headers: HeaderBlock): boolean {
    return this.forAny !== null || this.fieldsForOrigin(headers) !== undefined;
  }

  private fieldsForOrigin(headers: HeaderBlock): ExtraFields | undefined {
    const index = headers.find(HeaderId.Origin);
    // Browsers send one, in lower case; a client that sends two is no browser.
    if (index < 0 || headers.find(HeaderId.Origin, index + 1) >= 0) return undefined;
    return this.byOrigin.get(headers.valueText(index));
  }
}

type Field = readonly [name: string, value: string];

function originFields(origin: string, config: CorsConfig, more: readonly Field[]): ExtraFields {
  const fields: Field[] = [["Access-Control-Allow-Origin", origin], ...more];
  if (config.allowCredentials) fields.push(["Access-Control-Allow-Credentials", "true"]);
  if (config.exposedHeaders.length > 0) {
    fields.push(["Access-Control-Expose-Headers", config.exposedHeaders.join(", ")]);
  }
  return new ExtraFields(fields);
}

function preflightFields(config: CorsConfig): Field[] {
  const fields: Field[] = [["Access-Control-Allow-Methods", config.allowedMethods.join(", ")]];
  if (config.allowedHeaders.length > 0) {
    fields.push(["Access-Control-Allow-Headers", config.allowedHeaders.join(", ")]);
  }
  fields.push(["Access-Control-Max-Age", String(config.maxAgeSeconds)]);
  return fields;
}

/** Fetch Standard §3.2.5, "CORS protocol and HTTP caches". */
const VARY: Field = ["Vary", "Origin"];
const OTHER_ORIGIN: ExtraFields = new ExtraFields([VARY]);
