import * as v from "valibot";
import { headerNameKind } from "../../config/http-syntax.ts";
import type { Kind, Piece, Spot } from "../../config/piece.ts";
import { below, block, type ConfigOf, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { duration, secret, textLike, word } from "../../config/scalars.ts";

const stickyCookie = block(
  {
    name: {
      type: textLike(/^[\w!#$%&'*+.^`|~-]+$/, "the name of a cookie such as edge_node"),
      default: "edge_node",
      doc: "the name of the cookie",
    },
    ttl: { type: duration(0), default: "0s", doc: "how long the browser keeps the cookie; 0s: until it is closed" },
    secret: { type: secret("the secret"), absent: "", doc: "signs the cookie, so that no client chooses its target" },
  },
  {
    check({ secret: value }, { log, path }) {
      if (value !== "" && value.length < MIN_SECRET_CHARS)
        log.fault([...path, "secret"], `expected a secret of ${MIN_SECRET_CHARS} characters at least`);
    },
  },
);

/** What `openssl rand -hex 8` gives. */
const MIN_SECRET_CHARS = 16;

const balancingRows = {
  policy: {
    type: word("round_robin", "random", "least_conn", "p2c", "ip_hash", "uri_hash", "header", "cookie", "sticky"),
    default: "round_robin",
    doc: "the policy: round_robin, random, least_conn, p2c, ip_hash, uri_hash, header, cookie or sticky",
  },
  header: {
    type: headerNameKind(),
    absent: "",
    field: "",
    example: "X-User",
    doc: "policy header: the field whose value decides",
  },
  cookie: {
    type: nameOr(stickyCookie),
    absent: "",
    field: "",
    example: "session",
    doc: "policy cookie: its name; policy sticky: {name: edge_node, ttl: 0s, secret: …}",
  },
} as const satisfies Rows;

/** `load_balancing`: which target a request goes to. docs/upstreams.md#balancing */
export const balancing = block(balancingRows, {
  check: checkBalancing,
  finish({ policy }, { header, cookie }, spot) {
    const sticky = policy === "sticky" ? stickyCookieOf(cookie, below(spot, "cookie")) : null;
    const named = typeof cookie === "string" ? cookie : cookie.name;
    return {
      keyName: policy === "header" ? header.toLowerCase() : policy === "cookie" ? named : (sticky?.name ?? ""),
      cookie: sticky,
    };
  },
  list: ({ policy, keyName, cookie }) => ({
    policy,
    ...(policy === "header" || policy === "cookie" ? { [policy]: keyName } : {}),
    ...(cookie === null ? {} : { cookie: stickyCookie.write(cookie) }),
  }),
});

function checkBalancing({ policy, header, cookie }: Values<typeof balancingRows>, spot: Spot): void {
  const { log, path } = spot;
  if (policy === "header" && header === "" && !isFaultyAt(spot, "header"))
    log.fault(path, "policy: header needs header, the name to go by, such as header: X-User", true);
  if (policy === "cookie" && typeof cookie !== "string")
    log.fault(
      [...path, "cookie"],
      "policy: cookie goes by a cookie that the origin gives: write its name, such as cookie: session",
    );
  if (policy === "sticky" && typeof cookie === "string" && cookie !== "")
    log.fault([...path, "cookie"], `policy: sticky has a cookie of its own: write {name: ${cookie}}`);
  if (policy === "cookie" && cookie === "" && !isFaultyAt(spot, "cookie"))
    log.fault(path, "policy: cookie needs cookie, the name to go by, such as cookie: session", true);
  if (policy !== "header" && header !== "") log.warn([...path, "header"], `has no effect with policy: ${policy}`);
  if (policy !== "cookie" && policy !== "sticky" && cookie !== "")
    log.warn([...path, "cookie"], `has no effect with policy: ${policy}`);
}

/** The name of a cookie, or a section. */
function nameOr<T extends object, R extends object>(section: Kind<T, R>): Kind<string | T, string | R> {
  const name = headerNameKind();
  const either = v.lazy((value) => (typeof value === "object" && value !== null ? section : name));
  return {
    ...(either as Piece<string | T>),
    unit: "",
    form: { is: "either", forms: [name.form, section.form] },
    resolve: (value, spot) => (typeof value === "string" ? value : section.resolve!(value, spot)),
    write: (value) => (typeof value === "string" ? value : section.write(value)),
  };
}

/** The cookie of the policy sticky, of what is written at `cookie`. */
function stickyCookieOf(cookie: Values<typeof balancingRows>["cookie"], spot: Spot): ConfigOf<typeof stickyCookie> {
  const values = typeof cookie === "string" ? v.parse(stickyCookie, {}) : cookie;
  return stickyCookie.resolve(values, spot);
}

/** How targets are chosen if nothing is known but the client's address. */
export type StreamPolicy = Extract<LoadBalancingPolicy, "round_robin" | "random" | "least_conn" | "p2c" | "ip_hash">;

export type LoadBalancingConfig = ConfigOf<typeof balancing>;

/** The cookie of the policy `sticky`. */
export type StickyCookieConfig = NonNullable<LoadBalancingConfig["cookie"]>;

export type LoadBalancingPolicy = LoadBalancingConfig["policy"];
