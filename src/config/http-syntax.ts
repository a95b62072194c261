import { isIdentityField, OWN_FIELDS } from "../core/identity-names.ts";
import { series } from "../core/number-text.ts";
import { TEXT } from "./form.ts";
import { didYouMean } from "./nearest-name.ts";
import { describe, type Kind, piece, resolved, Wrong } from "./piece.ts";

/** The name of a header field, as written. */
export function headerNameKind(): Kind<string> {
  return piece(
    (value) => {
      const name = typeof value === "string" ? value : "";
      return TOKEN.test(name) ? name : new Wrong(`expected a header name such as X-Team, found ${describe(value)}`);
    },
    { is: "text", pattern: TOKEN },
  );
}

/** Says why a text cannot be a header value, or "". Line breaks and NUL would let one value become two headers. */
export function headerValueFault(value: string): string {
  if (/[\r\n\0]/.test(value)) return "expected a header value on one line, found a line break or NUL";
  if (!/^[\t\x20-\x7e]*$/.test(value)) return "expected plain ASCII in a header value, found other characters";
  return "";
}

/** A header value: text on one line, never repeated in a fault, since it may be a secret. Not trimmed before the check, so that a hidden line break is seen. */
export function headerValue(): Kind<string> {
  return piece((value) => {
    if (typeof value !== "string")
      return new Wrong(`expected the header's value as text, found a ${typeof value}; put it in quotes`);
    const fault = headerValueFault(value);
    return fault === "" ? value.trim() : new Wrong(fault);
  }, TEXT);
}

/** Values by the names of header fields. */
export function namedFields<T>(kind: Kind<[string, T][]>): Kind<[string, T][]> {
  return resolved(kind, (fields, { path, log }) => {
    for (const [name] of fields) {
      if (!isToken(name))
        log.fault([...path, name], `expected a header name such as X-Team, found ${describe(name)}`, true);
    }
    return fields;
  });
}

/** A method that a route can require: the gateway distinguishes these. */
export function routeMethod(): Kind<string> {
  return method((name) => {
    if (ROUTE_METHODS.includes(name)) return "";
    const found = `${describe(name)}${didYouMean(name, ROUTE_METHODS)}`;
    return `expected ${series(ROUTE_METHODS, "or")}, found ${found}; leave methods out to let others through`;
  });
}

/** A request method, made upper-case. CONNECT and TRACE are never served. docs/routing.md#methods */
export function method(faultOf: (name: string) => string = () => ""): Kind<string> {
  return piece(
    (value) => {
      const name = typeof value === "string" ? value.trim().toUpperCase() : "";
      if (!TOKEN.test(name)) return new Wrong(`expected a method such as GET, found ${describe(value)}`);
      if (REFUSED_METHODS.has(name)) return new Wrong(`the gateway always answers ${name} with 405; remove it`);
      const fault = faultOf(name);
      return fault === "" ? name : new Wrong(fault);
    },
    { is: "text", pattern: TOKEN },
  );
}

/** A path as it reads after decoding, with `*` at its end for all that begins so. */
export function pathPattern(): Kind<string> {
  return piece((value) => {
    const path = typeof value === "string" ? value.trim() : "";
    if (!/^\/[\x21-\x7e]*$/.test(path) || /[?#%\\]|\/\/|\/\.{1,2}(\/|$)/.test(path) || path.slice(0, -1).includes("*"))
      return new Wrong(`expected a path such as /feed.xml or /feed/*, found ${describe(value)}`);
    return path;
  }, TEXT);
}

/**
 * A path prefix: `/node`, `/node/` and `/node/*` all give `/node`; `/` stays. docs/routing.md#prefixes
 */
export function pathPrefix(): Kind<string> {
  return piece(
    (value) => {
      if (typeof value !== "string") return new Wrong(`expected a path such as /api, found ${describe(value)}`);
      const prefix = value.trim().replace(/\/\*?$/, "");
      const fault = pathFault(prefix === "" ? "/" : prefix, value);
      if (value.trim() === "") return new Wrong('expected a path such as /api, found ""');
      return fault === "" ? (prefix === "" ? "/" : prefix) : new Wrong(fault);
    },
    { is: "text", pattern: PATH },
  );
}

/** An exact path, such as `/internal`. */
export function exactPath(): Kind<string> {
  return piece(
    (value) => {
      const path = typeof value === "string" ? value.trim() : "";
      const fault = pathFault(path, value);
      return fault === "" ? path : new Wrong(fault);
    },
    { is: "text", pattern: PATH },
  );
}

/** True for a token of RFC 9110 §5.6.2, which field names and methods are. */
export function isToken(text: string): boolean {
  return TOKEN.test(text);
}

function pathFault(path: string, found: unknown): string {
  const shown = describe(found);
  if (!path.startsWith("/")) return `expected a path that begins with "/", found ${shown}`;
  if (/[?#]/.test(path)) return `expected a path without query and fragment, found ${shown}`;
  if (path.includes("*"))
    return `expected "*" only as the last part ("/api/*" means the same as "/api"), found ${shown}`;
  if (path.includes("%")) return `expected the path as it reads after decoding, without "%", found ${shown}`;
  if (!/^[\x21-\x7e]+$/.test(path) || path.includes("\\"))
    return `expected plain letters without spaces or backslashes, found ${shown}`;
  if (/\/\/|\/\.{1,2}(\/|$)/.test(path)) return `expected a path without "//", "/./" and "/../", found ${shown}`;
  return "";
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const PATH = /^\s*\//;
const ROUTE_METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
const REFUSED_METHODS = new Set(["CONNECT", "TRACE"]);

/** The name of an identity field: what else a client sends goes on without being named. docs/security.md#identity-headers */
export function identityField(): Kind<string> {
  return resolved(headerNameKind(), (name, { log, path }) => {
    const lower = name.toLowerCase();
    if (OWN_FIELDS.includes(lower)) log.fault(path, "the gateway writes it itself: no client's own goes on");
    else if (!isIdentityField(lower)) log.fault(path, "is no identity header, and goes on in any case: remove it");
    return name;
  });
}
