import { noteTwo, refuseRule, requireAuth } from "../access.ts";
import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { headerEdit, takesOff } from "./caddy-proxy.ts";
import { humanSize } from "./caddy-values.ts";

/** Reads a directive; null if it changes nothing. */
type MakeModifier = (statement: Statement, args: readonly string[], ledger: Ledger) => ((rule: Rule) => void) | null;

/** THE directives that change what others do, and can be said. */
export const MODIFIERS: Readonly<Record<string, MakeModifier>> = {
  header: (statement, args, ledger) => headers(statement, args, ledger, "response"),
  request_header: (statement, args, ledger) => headers(statement, args, ledger, "request"),
  encode: (statement, args, ledger) => encode(statement, args, ledger),
  basic_auth: (statement, args, ledger) => basicAuth(statement, args, ledger),
  basicauth: (statement, args, ledger) => basicAuth(statement, args, ledger),
  forward_auth: (statement, args, ledger) => forwardAuth(statement, args, ledger),
  request_body: (statement, _args, ledger) => {
    const size = (statement.block ?? []).find(({ name }) => name === "max_size");
    const bytes = humanSize(size?.args[0] ?? "");
    if (size === undefined || bytes === null) return null;
    ledger.carry(size);
    return (rule) => {
      rule.keys.max_body_bytes = bytes;
    };
  },
};

function headers(
  statement: Statement,
  args: readonly string[],
  ledger: Ledger,
  direction: "request" | "response",
): ((rule: Rule) => void) | null {
  const own = args.length > 0 ? [{ name: args[0]!, args: args.slice(1), statement }] : [];
  const list = [
    ...own,
    ...(statement.block ?? [])
      .filter(({ name }) => name !== "defer" && name !== "match")
      .map((one) => ({ name: one.name, args: one.args, statement: one })),
  ];
  const edits: Keys = {};
  let isShut = false;
  for (const one of list) {
    const [value, ...more] = one.args;
    if (more.length === 0 && headerEdit(edits, one.name, value)) {
      ledger.carry(one.statement);
      continue;
    }
    const isTaken = direction === "request" && takesOff(edits, one.name);
    isShut ||= direction === "request" && !isTaken;
    ledger.note(
      one.statement,
      `fields are set, added or removed, with placeholders${isTaken ? ": edge removes the client's field" : isShut ? ": its routes are closed" : ""}`,
      "see headers at the route: docs/upstreams.md#header-edits",
    );
  }
  if (Object.keys(edits).length === 0 && !isShut) return null;
  return (rule) => {
    if (isShut) refuseRule(rule);
    const keys = sectionAt(rule.keys, "headers", direction);
    const before = JSON.parse(JSON.stringify(keys)) as Keys;
    for (const [kind, value] of Object.entries(edits)) {
      keys[kind] = Array.isArray(value)
        ? [...((before[kind] as string[]) ?? []), ...value]
        : { ...(before[kind] as Keys), ...(value as Keys) };
    }
  };
}

function encode(statement: Statement, args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  const block = statement.block ?? [];
  const words = [...args, ...block.filter(({ name }) => /^(gzip|zstd|br)$/.test(name)).map(({ name }) => name)];
  const encodings = words.filter((word) => /^(gzip|zstd|br)$/.test(word));
  const smallest = Number(block.find(({ name }) => name === "minimum_length")?.args[0] ?? 512);
  for (const one of block) if (/^(gzip|zstd|br|minimum_length)$/.test(one.name)) ledger.carry(one);
  return (rule) => {
    if (!hasType(rule.keys, "redirect"))
      rule.keys.compression = {
        enabled: true,
        encodings: encodings.length > 0 ? encodings : ["zstd", "gzip"],
        min_bytes: smallest,
      };
  };
}

function basicAuth(statement: Statement, args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  const users: Keys = {};
  for (const one of statement.block ?? []) {
    users[one.name] = one.args[0] ?? "";
    ledger.carry(one);
  }
  const realm = args.find((word) => word !== "bcrypt" && word !== "argon2id");
  return (rule) => {
    const auth = { basic: { users, realm: realm ?? "restricted" }, keep_authorization: true };
    if (!requireAuth(rule, auth)) noteTwo(ledger, statement);
  };
}

function forwardAuth(statement: Statement, args: readonly string[], ledger: Ledger): (rule: Rule) => void {
  const block = statement.block ?? [];
  const [address = ""] = args;
  const uri = block.find(({ name }) => name === "uri");
  const copied = block.filter(({ name }) => name === "copy_headers");
  const names = copied
    .flatMap((one) => [...one.args, ...(one.block ?? []).map(({ name }) => name)])
    .filter((name) => !name.includes(">"));
  ledger.carry(uri ?? null, ...copied, ...copied.flatMap((one) => one.block ?? []));
  const base = /^https?:\/\//.test(address) ? address : `http://${address.replace(/^:/, "localhost:")}`;
  const auth = {
    forward: { url: `${base}${uri?.args[0] ?? "/"}`, ...(names.length > 0 ? { response_headers: names } : {}) },
  };
  return (rule) => {
    if (!requireAuth(rule, auth)) noteTwo(ledger, statement);
  };
}
