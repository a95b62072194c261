import { headerValueFault } from "../../config/http-syntax.ts";
import { type OriginConfig, takesVariables, usesTls } from "../../config/origin.ts";
import { type Kind, list, pairs, piece, resolved, Wrong } from "../../config/piece.ts";
import { block, type ConfigOf, isFaultyAt, orWritten, type Rows } from "../../config/row.ts";
import { flag, textLike, word } from "../../config/scalars.ts";
import { OwnLocations, RuledLocations } from "../../features/rewrite/location-rewrite.ts";
import { ResponseRewrite } from "../../features/rewrite/response-rewrite.ts";

const rule = block({
  from: {
    type: textLike(/^[\x21-\x7e]+$/, "the beginning of a URL, such as http://app.internal/"),
    required: "the beginning of a URL of the server, such as http://app.internal/",
    example: "http://app.internal/",
    doc: "the beginning of a URL that your server sends; a host must be whole",
  },
  to: {
    type: leadingUrl(),
    required: "what clients get in its place, such as /app/",
    example: "/app/",
    doc: "its replacement: a path, or a URL with http or https",
  },
});

const locationRows = {
  enabled: { type: flag(), default: true, doc: "false: edge leaves Location and Refresh as they are" },
  rules: {
    type: list(rule, "rules"),
    example: [{ from: "http://app.internal/", to: "/app/" }],
    doc: "the first that fits counts; without rules, URLs of the route's own targets become paths below its prefix",
  },
} as const satisfies Rows;

/** `rewrite_location`: true, or a list of rules. docs/upstreams.md#redirects-and-cookies-of-a-server */
export const rewriteLocation = orWritten(
  block(locationRows, { isSwitch: true }),
  { is: "list", item: rule.form, orOne: false },
  (value) => (Array.isArray(value) ? { rules: value } : value),
);

const cookieRows = {
  path: {
    type: cookiePaths(),
    example: { "/": "/app/" },
    doc: "beginnings of the attribute Path, each with its replacement; the first that fits counts",
  },
  domain: {
    type: orWritten(
      pairs(cookieDomain(), "domain: new domain"),
      { is: "text" },
      (value) => (typeof value === "string" ? { "*": value } : value),
      {},
    ),
    example: "shop.example.com",
    doc: "the new Domain; off removes it; {from: to} replaces one by another",
  },
  secure: { type: flag(), absent: null, example: true, doc: "true adds Secure, false removes it" },
  http_only: { type: flag(), absent: null, example: true, doc: "true adds HttpOnly, false removes it" },
  same_site: {
    type: word("strict", "lax", "none", "off"),
    absent: "",
    example: "lax",
    doc: "the new SameSite of every cookie; off removes it",
  },
} as const satisfies Rows;

/** `rewrite_cookies`. docs/upstreams.md#redirects-and-cookies-of-a-server */
export const rewriteCookies = block(cookieRows, {
  check({ secure, same_site }, spot) {
    if (same_site === "none" && secure === false && !isFaultyAt(spot, "same_site"))
      spot.log.warn([...spot.path, "same_site"], "browsers refuse SameSite=None without Secure: remove secure: false");
  },
});

/** A route that has these keys. */
interface AnswerRoute {
  readonly rewriteLocation: ConfigOf<typeof rewriteLocation> | null;
  readonly rewriteCookies: ConfigOf<typeof rewriteCookies> | null;
  readonly targets: readonly OriginConfig[];
  readonly prefix: string;
  readonly stripPrefix: boolean;
  readonly rewrite: object | null;
}

/** What a route changes in the redirects and cookies of its servers; null for nothing. */
export function responseRewrite(route: AnswerRoute): ResponseRewrite | null {
  const { rewriteLocation: location, rewriteCookies: cookies } = route;
  const isOn = location?.enabled === true;
  if (!isOn && cookies === null) return null;
  return new ResponseRewrite(isOn ? locations(route, location) : null, cookies);
}

function locations(route: AnswerRoute, { rules }: ConfigOf<typeof rewriteLocation>) {
  if (rules.length > 0) return new RuledLocations(rules);
  const origins = route.targets
    .filter(({ scheme }) => !takesVariables(scheme))
    .map(({ scheme, hostname, port, basePath }) => {
      return { scheme: usesTls(scheme) ? ("https" as const) : ("http" as const), hostname, port, basePath };
    });
  return new OwnLocations(origins, route.stripPrefix && route.rewrite === null ? route.prefix : "");
}

/** A path, or an absolute URL. */
function leadingUrl(): Kind<string> {
  return textLike(
    /^(?:\/(?![/\\])|https?:\/\/(?![/?#\\]))[\x21-\x7e]*$/i,
    "a path such as /app/, or a URL with http or https",
  );
}

function cookiePaths(): Kind<[string, string][]> {
  const path = textLike(/^\/[\x21-\x3a\x3c-\x7e]*$/, "a path without semicolon, such as /app/");
  return resolved(pairs(path, "path: new path"), (found, { path: at, log }) => {
    for (const [from] of found)
      if (!from.startsWith("/")) log.fault([...at, from], 'expected the beginning of a path, with "/" first', true);
    return found;
  });
}

function cookieDomain(): Kind<string> {
  return piece(
    (value) => {
      const text = typeof value === "string" ? value.trim() : "";
      if (text === "off" || (/^\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*$/i.test(text) && headerValueFault(text) === ""))
        return text;
      return new Wrong("expected a domain such as shop.example.com, or off");
    },
    { is: "text" },
  );
}
