import { isToken } from "../../config/http-syntax.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { AllowedOrigins, isPageOrigin } from "./allowed-origins.ts";
import type { CorsConfig } from "./settings.ts";

/** Permissions of `server.cors`, as the fields that say so. Fetch Standard §3.2, docs/guards.md#cors */
export class CorsPolicy {
  /** For all origins, where all are allowed in the same words. */
  private readonly forAny: ExtraFields | null;
  private readonly byOrigin: ReadonlyMap<string, ExtraFields>;
  /** Whether an origin without an entry is allowed. */
  private readonly allowsOther: (origin: string) => boolean;
  private readonly config: CorsConfig;
  private readonly plainPreflight: PrebuiltResponse;

  constructor(config: CorsConfig) {
    const isAny = config.allowedOrigins.includes("*");
    // With one response for all origins a cache needs not tell them apart, and gets that response whichever origin asks first.
    this.forAny = isAny && !isEchoed(config) ? originFields("*", config, []) : null;
    const named = config.allowedOrigins.filter((origin) => !origin.includes("*"));
    this.byOrigin = new Map(named.map((origin) => [origin, originFields(origin, config, [VARY])]));
    const origins = new AllowedOrigins(config.allowedOrigins);
    this.allowsOther = isAny ? isPageOrigin : (origin) => origins.has(origin);
    this.config = config;
    this.plainPreflight = new PrebuiltResponse(
      204,
      preflightFields(config, config.allowedMethods, config.allowedHeaders),
      "",
    );
  }

  /** The response to a preflight of an allowed origin; a head tap adds what every response to that origin carries. */
  preflightFor(headers: HeaderBlock): PrebuiltResponse {
    const { config } = this;
    const [isAnyMethod, isAnyField] = [config.allowedMethods.includes("*"), config.allowedHeaders.includes("*")];
    if (!isEchoed(config) || !(isAnyMethod || isAnyField)) return this.plainPreflight;
    const methods = isAnyMethod
      ? wanted(headers, headers.find(HeaderId.AccessControlRequestMethod))
      : config.allowedMethods;
    const fields = isAnyField ? wanted(headers, headers.findNamed(REQUEST_HEADERS)) : config.allowedHeaders;
    return new PrebuiltResponse(204, preflightFields(config, methods, fields), "");
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
    const origin = headers.valueText(index);
    const known = this.byOrigin.get(origin);
    if (known !== undefined || !this.allowsOther(origin)) return known;
    return originFields(origin, this.config, [VARY]);
  }
}

/** Whether a star stands for the names in the request: with credentials, browsers take it for a name. */
function isEchoed({ allowCredentials, echoAny }: CorsConfig): boolean {
  return allowCredentials && echoAny;
}

/** The tokens that a preflight asks for; none if something in the list is no token. */
function wanted(headers: HeaderBlock, at: number): readonly string[] {
  if (at < 0) return [];
  const names = headers
    .valueText(at)
    .split(",")
    .map((name) => name.trim());
  return names.every(isToken) ? names : [];
}

const REQUEST_HEADERS: Buffer = Buffer.from("access-control-request-headers");

type Field = readonly [name: string, value: string];

function originFields(origin: string, config: CorsConfig, more: readonly Field[]): ExtraFields {
  const fields: Field[] = [["Access-Control-Allow-Origin", origin], ...more];
  if (config.allowCredentials) fields.push(["Access-Control-Allow-Credentials", "true"]);
  if (config.exposedHeaders.length > 0) {
    fields.push(["Access-Control-Expose-Headers", config.exposedHeaders.join(", ")]);
  }
  return new ExtraFields(fields);
}

function preflightFields(
  { maxAgeSeconds }: CorsConfig,
  methods: readonly string[],
  names: readonly string[],
): readonly Field[] {
  const fields: Field[] = [];
  if (methods.length > 0) fields.push(["Access-Control-Allow-Methods", methods.join(", ")]);
  if (names.length > 0) fields.push(["Access-Control-Allow-Headers", names.join(", ")]);
  fields.push(["Access-Control-Max-Age", String(maxAgeSeconds)]);
  return fields;
}

/** Fetch Standard §3.2.5, "CORS protocol and HTTP caches". */
const VARY: Field = ["Vary", "Origin"];
const OTHER_ORIGIN: ExtraFields = new ExtraFields([VARY]);
