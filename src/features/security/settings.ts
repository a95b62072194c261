import { TEXT } from "../../config/form.ts";
import { headerValue } from "../../config/http-syntax.ts";
import { describe, type Kind, piece, Wrong } from "../../config/piece.ts";
import { block, type ConfigOf, layerRows, OFF, orOff, type Rows } from "../../config/row.ts";
import { flag, wordOrEmpty } from "../../config/scalars.ts";

const rows = {
  enabled: { type: flag(), default: true, doc: "false: edge adds no field" },
  frame_options: {
    type: wordOrEmpty("DENY", "SAMEORIGIN") as Kind<string>,
    default: "SAMEORIGIN",
    doc: 'X-Frame-Options: SAMEORIGIN, DENY, or "" for none',
  },
  referrer_policy: {
    type: wordOrEmpty(
      "no-referrer",
      "no-referrer-when-downgrade",
      "origin",
      "origin-when-cross-origin",
      "same-origin",
      "strict-origin",
      "strict-origin-when-cross-origin",
      "unsafe-url",
    ) as Kind<string>,
    default: "strict-origin-when-cross-origin",
    doc: 'Referrer-Policy, or "" for none',
  },
  hsts: { type: hsts(), default: true, doc: "Strict-Transport-Security, over TLS only: false, or its whole value" },
} as const satisfies Rows;

/** What is added to responses that do not say it themselves; "" adds nothing. docs/guards.md#security-headers */
export const securityHeaders = block(rows, { absent: OFF });

/** `security_headers` at a route, over the server's. docs/guards.md#policies-at-a-route */
export const routeSecurityHeaders = orOff(block(layerRows(rows)));

/** `true`, `false`, or the whole value of the header; resolved to that, "" for `false`. */
function hsts(): Kind<string> {
  const value = headerValue();
  return piece<string>(
    (found) => {
      if (found === true || found === "true") return "max-age=31536000";
      if (found === false || found === "false" || found === "") return "";
      const result = value["~run"]({ value: found }, {});
      const text = result.issues === undefined ? String(result.value) : "";
      return /^max-age=\d+/i.test(text)
        ? text
        : new Wrong(
            `expected true, false or a value such as "max-age=31536000; includeSubDomains", found ${describe(found)}`,
          );
    },
    { is: "either", forms: [{ is: "flag" }, TEXT] },
  );
}

export type SecurityHeadersConfig = ConfigOf<typeof securityHeaders>;
