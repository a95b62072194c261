import type { LoadTarget } from "./load-target.ts";
import type { PlannedRequest } from "./request-list.ts";

/** All fields of a request but Host and Content-Length, names in lower case: its own win over the usual ones. */
export function plannedFields({ fields, body }: PlannedRequest): readonly (readonly [string, string])[] {
  const own = new Set(fields.map(([name]) => name.toLowerCase()));
  const usual: (readonly [string, string])[] = [
    ["user-agent", "edge-loadgen"],
    ["accept", "*/*"],
  ];
  if (body !== "") usual.push(["content-type", /^\s*[[{]/.test(body) ? "application/json" : "text/plain"]);
  return [...usual.filter(([name]) => !own.has(name)), ...fields];
}

/** A request of HTTP/1.1. */
export function requestBytes({ authority }: LoadTarget, request: PlannedRequest): Buffer {
  const content = Buffer.from(request.body);
  const lines = [`${request.method} ${request.path} HTTP/1.1`, `Host: ${authority}`];
  for (const [name, value] of plannedFields(request)) lines.push(`${name}: ${value}`);
  // RFC 9110 §8.6: a method that usually has content says so even when there is none.
  if (content.length > 0 || /^(POST|PUT|PATCH)$/.test(request.method)) lines.push(`Content-Length: ${content.length}`);
  return Buffer.concat([Buffer.from([...lines, "", ""].join("\r\n"), "latin1"), content]);
}
