import type { Statement } from "../statement.ts";

/** Whether a directive ends requests. */
export function endsRequest(
  { name }: Statement,
  { order = ORDER }: { readonly order?: readonly string[] } = {},
): boolean {
  return order.includes(name) || name === "handle_path";
}

/** Directives that end a request, in Caddy's order. */
export const ORDER: readonly string[] = [
  "redir",
  "handle",
  "route",
  "abort",
  "error",
  "respond",
  "metrics",
  "reverse_proxy",
  "php_fastcgi",
  "file_server",
  "acme_server",
];

/** Whether some directive after a block, or after one around it, may take what it does not end. */
export function goesOn(statement: Statement): boolean {
  for (let at: Statement = statement; at.parent !== null; at = at.parent) {
    const { first, second, isAllHandles } = endsOf(at.parent);
    if (isHandle(at) ? !isAllHandles : (first === at ? second : first) !== undefined) return true;
  }
  return false;
}

function isHandle({ name }: Statement): boolean {
  return name === "handle" || name === "handle_path";
}

/** The directives of a block that end requests, but for redirects. */
interface Ends {
  readonly first: Statement | undefined;
  readonly second: Statement | undefined;
  readonly isAllHandles: boolean;
}

function endsOf(parent: Statement): Ends {
  const known = ENDS.get(parent);
  if (known !== undefined) return known;
  const all = (parent.block ?? []).filter((one) => endsRequest(one) && one.name !== "redir");
  const ends = { first: all[0], second: all[1], isAllHandles: all.every(isHandle) };
  ENDS.set(parent, ends);
  return ends;
}

const ENDS = new WeakMap<Statement, Ends>();
