// Every key of both files with its default, as the file would say it. tests/unit/loading/settings-reference.test.ts holds
// it to the schemas: no key is missing, and a value is the default unless its comment begins with "e.g.".

import { pathPrefix } from "../config/http-syntax.ts";
import { referenceOf } from "../config/row-reference.ts";
import { text } from "../config/scalars.ts";
import { ROUTE_FORMAT } from "../routes/route-format.ts";
import { routePlace } from "../routes/route-schema.ts";
import type { RouteSyntax, StreamSyntax } from "../routes/route-syntax.ts";
import { routeTests } from "../routes/route-tests.ts";
import { configFile } from "../settings/config-settings.ts";

const INDENT = "    ";

/** `edge help config`. */
export const CONFIG_REFERENCE = `# Every key of config.yaml. The value is the default; after "e.g." it is an example, and the key has no default.
# Durations: 500ms, 60s, 1m30s, 2h, or seconds. Sizes: bytes, 512KiB, 4MiB. \${NAME} and \${NAME:-default} read the
# environment. Paths are relative to the folder of the file. Top-level keys that begin with x- may hold anchors.
# (restart): a change takes effect at the next restart, not at a reload; (HTTP/3: restart): the same, for HTTP/3 alone.

${Object.entries(configFile.rows)
  .map(([key, row]) => referenceOf({ [key]: row }))
  .join("\n")}`;

/** `edge help routes`: each type with its own keys, one of them with those of all types. */
export const ROUTES_REFERENCE = `# Every key of routes.yaml. The value is the default; after "e.g." it is an example, and the key has no default.
# The host goes first, then "path", "regex" and the longest prefix; a path that matches no route gets 404.

routes:
${routesReference()}
# Streams: entries that forward connections as they are, and have none of the keys above that are not named here.
${streamsReference()}
# What must become of requests: run by edge check, without a network, and by nothing else.
${referenceOf({ tests: { type: routeTests } })}`;

function routesReference(): string {
  const { types, options } = ROUTE_FORMAT;
  const names = Object.keys(types);
  const whole = names.findIndex((name) => types[name]!.help.hasOptions === true);
  const others = (where: string) => `${INDENT}# And, as ${where}: ${Object.keys(options.rows).join(", ")}.\n`;
  return names
    .map((name, i) => {
      const shared = i === whole ? referenceOf(options.rows, INDENT) : others(i < whole ? "below" : "above");
      return ownReference(name, types[name]!) + shared;
    })
    .join("\n");
}

function ownReference(name: string, { keys, help }: RouteSyntax): string {
  const own = Object.fromEntries(Object.entries(keys.rows).filter(([key]) => !help.unlisted.includes(key)));
  const place = {
    type: { type: text("a type of route"), default: name, doc: help.doc },
    prefix: { type: pathPrefix(), ...help.prefix },
    host: { type: text("a host name"), ...help.host },
    hosts: routePlace.rows.hosts,
    regex: routePlace.rows.regex,
  };
  return referenceOf({ ...place, ...own }, INDENT).replace(INDENT, "  - ");
}

function streamsReference(): string {
  const { streams } = ROUTE_FORMAT;
  return Object.entries(streams)
    .map(([name, syntax]) => streamReference(name, syntax))
    .join("\n");
}

function streamReference(name: string, { keys, doc }: StreamSyntax): string {
  const { target: _, ...rows } = keys.rows;
  const type = { type: text("a type of stream"), default: name, doc };
  return referenceOf({ type, ...rows }, INDENT).replace(INDENT, "  - ");
}
