import { headerNameKind, isToken } from "../../../config/http-syntax.ts";
import { describe, list, pairs, piece, type Spot, Wrong, written } from "../../../config/piece.ts";
import { block, type ConfigOf, isFaultyAt, type Rows, type Values } from "../../../config/row.ts";
import { duration, fileName, secret, text, textLike, word } from "../../../config/scalars.ts";
import { MASK, withoutCredentials } from "../../../core/secret-name.ts";
import {
  ALGORITHM_NAMES,
  ALGORITHMS,
  type AlgorithmName,
  isSecretFor,
  MAX_JWKS_BYTES,
  readKeySet,
  readPublicKeys,
  secretKey,
  type VerificationKey,
} from "../../../proto/jwt/key-set.ts";
import { claimValues } from "../claim-values.ts";
import { RESERVED_FIELDS } from "../reserved-fields.ts";

/** A claim that a token must have, with one of these values. */
export interface ClaimRule {
  readonly name: string;
  readonly values: readonly string[];
}

/** A field of the request that goes upstream, and the claim that is its value. */
interface ClaimField {
  readonly name: string;
  readonly claim: string;
}

const JWKS_URL = /^(https:\/\/[^\s/?#@]+|http:\/\/(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?)([/?][^\s#]*)?$/;

const rows = {
  jwks_url: {
    type: written(
      textLike(JWKS_URL, "the URL of a JWK set by https, or by http on this machine, such as https://id.example/jwks"),
      withoutCredentials,
    ),
    absent: "",
    example: "https://id.example.com/.well-known/jwks.json",
    doc: "the key set of your provider, which edge fetches and refreshes; or",
  },
  jwks_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./jwks.json",
    doc: "a JWK set in a file, which edge reads again on reload; or",
  },
  public_key_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./issuer.pem",
    doc: "public keys or certificates in PEM form, which edge reads again on reload; or",
  },
  secret: {
    type: secret("a secret that the issuer has, too"),
    absent: "",
    field: "",
    example: "${JWT_SECRET:-at least thirty-two characters long}",
    doc: "a shared secret of at least 32 bytes, for HS256, HS384 and HS512",
  },
  ca_file: {
    type: fileName(),
    absent: "",
    field: "",
    example: "./private-ca.pem",
    doc: "roots that edge trusts for jwks_url; the system's by default",
  },
  issuer: {
    type: list(text("an issuer"), "issuers", true),
    example: "https://id.example.com",
    doc: "the issuer (iss) that you accept, or a list",
  },
  audience: {
    type: list(text("an audience"), "audiences", true),
    example: "https://api.example.com",
    doc: "the audience (aud) that a token must name, or a list",
  },
  algorithms: {
    type: list(word(...(Object.keys(ALGORITHMS) as [AlgorithmName])), "algorithms", true),
    field: "",
    example: ["ES256", "RS256"],
    doc: "signature algorithms that you accept; all that your keys are for by default",
  },
  leeway: { type: duration(0, 600_000), default: "30s", doc: "how far clocks may differ for exp and nbf" },
  from: {
    type: list(tokenPlace(), "places", true),
    field: "",
    example: ["header", "cookie:session", "query:access_token"],
    doc: "where edge looks for the token, in this order; header is Authorization: Bearer, or header:NAME",
  },
  claims: {
    type: written(pairs(claimValues(), "claim: value"), (all) => all),
    field: "",
    example: { role: ["admin", "ops"] },
    doc: "claims that a token needs, each with one of your values: in a list of texts, or in the words of scope",
  },
  headers: {
    type: written(pairs(text("the name of a claim"), "field: claim"), (all) => all),
    field: "",
    example: { "X-User": "sub" },
    doc: "fields with claims for your upstream; clients cannot send them",
  },
  realm: {
    type: textLike(/^[\x20\x21\x23-\x5b\x5d-\x7e]{1,64}$/, "a name of at most 64 characters, without quotes"),
    default: "Restricted",
    doc: "the realm in WWW-Authenticate",
  },
} as const satisfies Rows;

type JwtValues = Values<typeof rows>;

/** `auth.jwt`: signed tokens. docs/authentication.md#tokens */
export const jwt = block(rows, {
  check: checkJwt,
  finish: (_, values, spot) => {
    const { path, log, files } = spot;
    const fileOf = (key: "jwks_file" | "public_key_file" | "ca_file"): string =>
      key === "ca_file" ? files.bundle([...path, key], values[key]) : files.file([...path, key], values[key]);
    const jwksFile = fileOf("jwks_file");
    const publicKeyFile = fileOf("public_key_file");
    const algorithms = values.algorithms.length > 0 ? values.algorithms : ALGORITHM_NAMES;
    const own = {
      caFile: fileOf("ca_file"),
      jwksFile,
      publicKeyFile,
      hasSecret: values.secret !== "",
      ownAlgorithms: values.algorithms,
      /** What the keys may be used for. */
      algorithms: algorithms.filter((name) => (ALGORITHMS[name].family === "secret") === (values.secret !== "")),
      /** Those that the configuration holds itself. */
      keys: log.isFaulty([...path, "algorithms"]) ? [] : ownKeys(values, { ...spot }, algorithms),
      from: values.from.length > 0 ? values.from : ["header"],
      hasOwnPlaces: values.from.length > 0,
      claims: values.claims.map(([name, wanted]): ClaimRule => ({ name, values: wanted })),
      fields: values.headers.map(([name, claim]): ClaimField => ({ name, claim })),
    };
    return own;
  },
  list: (config, lines) => ({
    ...lines,
    ...(config.jwksFile === "" ? {} : { jwks_file: config.jwksFile }),
    ...(config.publicKeyFile === "" ? {} : { public_key_file: config.publicKeyFile }),
    ...(config.hasSecret ? { secret: MASK } : {}),
    ...(config.caFile === "" ? {} : { ca_file: config.caFile }),
    ...(config.ownAlgorithms.length === 0 ? {} : { algorithms: config.ownAlgorithms }),
    ...(config.hasOwnPlaces ? { from: config.from } : {}),
    ...(config.claims.length === 0
      ? {}
      : { claims: Object.fromEntries(config.claims.map((one) => [one.name, one.values])) }),
    ...(config.fields.length === 0
      ? {}
      : { headers: Object.fromEntries(config.fields.map((one) => [one.name, one.claim])) }),
  }),
});

export type JwtConfig = ConfigOf<typeof jwt>;

const SOURCES = ["jwks_url", "jwks_file", "public_key_file", "secret"] as const;

function checkJwt(values: JwtValues, spot: Spot): void {
  const { log, path } = spot;
  const named = SOURCES.filter((key) => values[key] !== "");
  if (named.length === 0 && !SOURCES.some((key) => isFaultyAt(spot, key)))
    log.fault(path, "needs keys: one of jwks_url, jwks_file, public_key_file and secret", true);
  if (named.length > 1)
    log.fault([...path, named[1]!], `there is ${named[0]} already: one of them says which keys count`, true);
  else checkAlgorithms(values, named[0] ?? "", spot);
  if (values.ca_file !== "" && values.jwks_url === "") log.warn([...path, "ca_file"], "has no effect without jwks_url");
  if (values.jwks_url !== "" && values.audience.length === 0 && !isFaultyAt(spot, "audience"))
    log.warn(path, "audience is not set: tokens that the issuer makes for other applications come in, too");
  for (const [name] of values.claims) {
    if (!isClaimName(name)) log.fault([...path, "claims", name], CLAIM_NAME, true);
  }
  for (const [name, claim] of values.headers) {
    const at = [...path, "headers", name];
    if (!isToken(name)) log.fault(at, "expected the name of a header field, such as X-User", true);
    else if (RESERVED_FIELDS.has(name.toLowerCase()))
      log.fault(at, "this field is the gateway's own, or says how a message is read", true);
    else if (!isClaimName(claim)) log.fault(at, CLAIM_NAME);
  }
}

/** A key never meets an algorithm of another kind; one that is named beside it would let no token in. */
function checkAlgorithms({ algorithms, secret: value }: JwtValues, source: string, { log, path }: Spot): void {
  const at = [...path, "algorithms"];
  const isShared = source === "secret";
  for (const [i, name] of algorithms.entries()) {
    const isSecret = ALGORITHMS[name].family === "secret";
    if (source === "" || isSecret === isShared) continue;
    const cure = isShared
      ? "tokens with it need a public key"
      : "it verifies with a shared secret, never with a public key";
    log.fault([...at, i], `${name} does not go with ${source}: ${cure}`);
  }
  if (!isShared || value === MASK) {
    if (isShared) log.warn([...path, "secret"], "is the mask that edge check --print shows: no token comes in");
    return;
  }
  const bytes = Buffer.byteLength(value);
  const short = (algorithms.length > 0 ? algorithms : (["HS256"] as const)).find(
    (name) => ALGORITHMS[name].family === "secret" && !isSecretFor(bytes, name),
  );
  if (short === undefined) return;
  log.fault(
    [...path, "secret"],
    `${short} needs a secret of at least ${Number(short.slice(2)) / 8} bytes, found ${bytes}; "openssl rand -hex 32" makes one`,
  );
}

function ownKeys(values: JwtValues, spot: Spot, algorithms: readonly AlgorithmName[]): readonly VerificationKey[] {
  if (values.secret !== "") return values.secret === MASK ? [] : [secretKey(values.secret, algorithms)];
  const key = values.jwks_file !== "" ? "jwks_file" : "public_key_file";
  if (values[key] === "") return [];
  const { log, path, files } = spot;
  const at = [...path, key];
  const cure = "a set of keys is a few kilobytes";
  const held = log.isFaulty(at) ? "" : files.contents(at, values[key], MAX_JWKS_BYTES, cure);
  if (log.isFaulty(at)) return [];
  const text = Buffer.from(held, "latin1").toString("utf8");
  const read = key === "jwks_file" ? readKeySet(text, algorithms) : readPublicKeys(text, algorithms);
  if (read instanceof Error) {
    log.fault(at, read.message);
    return [];
  }
  for (const note of read.notes) log.warn(at, note);
  if (read.keys.length === 0) log.fault(at, "holds no key that tokens can be verified with");
  return read.keys;
}

/** `header`, `header:NAME`, `cookie:NAME` or `query:NAME`. */
function tokenPlace() {
  const header = headerNameKind();
  return piece<string>(
    (value) => {
      const found = typeof value === "string" ? value.trim() : "";
      if (found === "header") return found;
      const colon = found.indexOf(":");
      const [kind, name] = [found.slice(0, colon), found.slice(colon + 1).trim()];
      const isGood =
        kind === "header"
          ? header["~run"]({ value: name }, {}).issues === undefined && !RESERVED_FIELDS.has(name.toLowerCase())
          : kind === "cookie"
            ? isToken(name)
            : kind === "query" && /^[\w.~-]{1,64}$/.test(name);
      if (isGood) return `${kind}:${name}`;
      return new Wrong(`expected header, header:NAME, cookie:NAME or query:NAME, found ${describe(value)}`);
    },
    { is: "text", pattern: /^\s*(header|(header|cookie|query):.+)$/ },
  );
}

function isClaimName(name: string): boolean {
  return /^[^\p{Cc}]{1,256}$/u.test(name) && name.trim() === name;
}

const CLAIM_NAME = "expected the name of a claim, such as sub or realm_access.roles";
