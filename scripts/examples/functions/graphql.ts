import { createHash } from "node:crypto";
import type { FunctionModule } from "edge";
import allowed from "./graphql-queries.json";

/**
 * Lets the queries of graphql-queries.json through, and no other: what its authors have not written cannot be asked, however deep or costly. A client
 * sends the whole query, or its name alone.
 */
const QUERIES: ReadonlyMap<string, string> = new Map(Object.entries(allowed));
const NAMES: ReadonlyMap<string, string> = new Map([...QUERIES].map(([name, query]) => [digestOf(query), name]));

export default {
  async fetch(request, ctx) {
    if (!/^application\/json(?:;|$)/.test(request.headers.get("Content-Type") ?? ""))
      return refused(415, "expected JSON");
    const asked = (await request.json().catch(() => null)) as Readonly<Record<string, unknown>> | null;
    // A list would be a batch: as many queries in one request as one likes.
    if (asked === null || typeof asked !== "object" || Array.isArray(asked)) return refused(400, "expected one query");
    const { query, operationName, variables = {} } = asked;
    const name = typeof query === "string" ? NAMES.get(digestOf(query)) : operationName;
    const known = typeof name === "string" ? QUERIES.get(name) : undefined;
    if (known === undefined) {
      ctx.log.warn("a query that is not on the list", { digest: typeof query === "string" ? digestOf(query) : "" });
      return refused(403, "this query is not on the list");
    }
    if (variables === null || typeof variables !== "object") return refused(400, "variables must be an object");
    const body = JSON.stringify({ query: known, operationName: name, variables });
    const headers = new Headers(request.headers);
    headers.delete("Content-Length");
    return ctx.upstream(new Request(request.url, { method: "POST", headers, body }));
  },
} satisfies FunctionModule;

/** White space does not matter. */
function digestOf(query: string): string {
  return createHash("sha256").update(query.replaceAll(/\s+/g, " ").trim()).digest("hex");
}

function refused(status: number, message: string): Response {
  return Response.json({ errors: [{ message }] }, { status });
}
