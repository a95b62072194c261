import { ipVersion } from "../../../core/ip-address.ts";
import { type Condition, EVERYTHING, slashed } from "../condition.ts";
import { escapedRegex, expressionOf, takesNothing } from "../expression.ts";
import type { Statement } from "../statement.ts";

/** What the condition of an `if` asks. */
export interface NginxTest {
  /** A variable without its sign, or a test of files such as `-f`. */
  readonly subject: string;
  /** `=`, `~`, `~*`, or "" if a variable alone is asked. */
  readonly sign: string;
  readonly value: string;
  /** `!=`, `!~`, `!~*`, `!-f`. */
  readonly isNot: boolean;
}

/** Reads the words of an `if`; null for what nginx has no such condition for. */
export function askedBy({ args }: Statement): NginxTest | null {
  const words = args.map((word, i) => (i === 0 && word.startsWith("(") ? word.slice(1) : word));
  const last = words.length - 1;
  if (words[last]?.endsWith(")") === true) words[last] = words[last].slice(0, -1);
  const [first = "", sign = "", ...rest] = words.filter((word, i) => word !== "" || (i > 0 && i < last));
  if (/^!?-[fdex]$/.test(first))
    return { subject: first.replace("!", ""), sign: "", value: sign, isNot: first.startsWith("!") };
  const name = /^\$\{?(\w+)\}?$/.exec(first)?.[1];
  if (name === undefined) return null;
  if (sign === "") return { subject: name, sign, value: "", isNot: false };
  if (!/^(!?=|!?~\*?)$/.test(sign)) return null;
  return { subject: name, sign: sign.replace("!", ""), value: rest.join(" "), isNot: sign.startsWith("!") };
}

/**
 * Conditions of which a request fits one where it fits what is asked, whatever `isNot` says; null if no route can ask it.
 * @param isWide whether they may take more requests than are asked for, rather than fewer
 */
export function conditionsOf(asked: NginxTest, isWide: boolean): Condition[] | null {
  const { subject, sign, value } = asked;
  // A variable in the value is known at a request alone; in an expression the sign is its end.
  if (sign === "") return setConditions(subject, isWide);
  if (sign === "=" && value.includes("$")) return null;
  switch (subject) {
    case "host":
    case "http_host":
      return hostConditions(asked);
    case "request_method":
      return methodConditions(asked, isWide);
    case "remote_addr":
      return addressConditions(asked);
    case "uri":
    case "document_uri":
      return pathConditions(asked, isWide);
    case "content_type":
      return fieldConditions("header", "content-type", asked, isWide);
  }
  const parts = /^(http|cookie|arg)_(\w+)$/.exec(subject);
  if (parts === null || OTHERWISE_ASKED.test(subject)) return null;
  const [, kind, name = ""] = parts;
  if (kind === "http") return fieldConditions("header", name.replaceAll("_", "-"), asked, isWide);
  return fieldConditions(kind === "arg" ? "query" : "cookie", name, asked, isWide);
}

/** A variable alone: it is neither empty nor `0`. */
function setConditions(subject: string, isWide: boolean): Condition[] | null {
  return /^(http|cookie|arg)_/.test(subject)
    ? conditionsOf({ subject, sign: "~", value: NOT_ZERO, isNot: false }, isWide)
    : null;
}

const NOT_ZERO = "^([^0]|0.)";

/** Fields that routes do not ask by `match.header`: docs/routing.md#match */
const OTHERWISE_ASKED =
  /^http_(host|cookie|connection|upgrade|te|trailer|transfer_encoding|content_length|forwarded|via|x_real_ip|x_request_id|x_forwarded_\w+)$/;

/** Whether an `if` asks for requests in clear text. */
export function isCleartext({ subject, sign, value, isNot }: NginxTest): boolean {
  if (sign !== "=") return false;
  if (subject === "scheme") return value === (isNot ? "https" : "http");
  return subject === "https" && value === (isNot ? "on" : "");
}

/** Whether an `if` asks for paths without a file: files are looked up anyway. */
export function isWithoutFile({ subject, value, isNot }: NginxTest): boolean {
  return /^-[fe]$/.test(subject) && isNot && /^\$(request_filename|document_root\$(uri|document_uri))$/.test(value);
}

function hostConditions({ sign, value }: NginxTest): Condition[] | null {
  const hosts = sign === "=" ? [value.toLowerCase()] : namesOf(value);
  return hosts?.every((one) => /^[\w.-]+$/.test(one)) === true ? [{ ...EVERYTHING, hosts }] : null;
}

/** Names of an expression that says nothing else: `^(www\.)?example\.com$`, `^(a|b)\.example\.com$`; null for others. */
function namesOf(regex: string): string[] | null {
  if (regex.length > MAX_NAMES_LENGTH) return null;
  if (!regex.startsWith("^") || !regex.endsWith("$")) return null;
  const [before = "", group, ...more] = regex.slice(1, -1).split("(");
  const [list = "", end = "", ...further] = group?.split(")") ?? [];
  const isOptional = end.startsWith("?");
  const after = isOptional ? end.slice(1) : end;
  if (more.length + further.length > 0 || ![before, after].every((one) => /^(?:[\w-]|\\\.)*$/.test(one))) return null;
  if (group === undefined ? before === "" : !group.includes(")") || !/^(?:[\w|-]|\\\.)+$/.test(list)) return null;
  const words = [...list.split("|"), ...(isOptional ? [""] : [])];
  if (words.length > MAX_WORDS) return null;
  return words.map((word) => `${before}${word}${after}`.replaceAll("\\", "").toLowerCase());
}

function methodConditions({ sign, value }: NginxTest, isWide: boolean): Condition[] | null {
  if (sign === "=") return /^[A-Z]+$/.test(value) ? [{ ...EVERYTHING, methods: [value] }] : null;
  const words = /^(\^?)\(?([A-Z|]+)\)?(\$?)$/.exec(value);
  if (words === null) return null;
  const [, start, list = "", end] = words;
  const methods = list.split("|").filter((one) => one !== "");
  // Without its ends, an expression takes every method that has the word in it.
  if (isWide && (start === "" || end === "" || !/^\^?(\(|[A-Z]+\$?$)/.test(value))) return null;
  return methods.length === 0 ? null : [{ ...EVERYTHING, methods }];
}

function addressConditions({ sign, value }: NginxTest): Condition[] | null {
  if (sign === "=") return ipVersion(value) === 0 ? null : [{ ...EVERYTHING, match: { client_ip: [value] } }];
  // The beginning of an IPv4 address, in whole numbers: `^10\.1\.`.
  const numbers = /^\^((?:\d{1,3}\\\.){1,3})$/.exec(value)?.[1]?.split("\\.").slice(0, -1) ?? [];
  const address = [...numbers, "0", "0", "0"].slice(0, 4).join(".");
  if (numbers.length === 0 || ipVersion(address) === 0) return null;
  return [{ ...EVERYTHING, match: { client_ip: [`${address}/${numbers.length * 8}`] } }];
}

function pathConditions({ sign, value }: NginxTest, isWide: boolean): Condition[] | null {
  if (sign === "=") return value.startsWith("/") ? [{ ...EVERYTHING, path: { kind: "exact", value } }] : null;
  const regex = expressionOf(value, isWide);
  return regex === null ? null : [{ ...EVERYTHING, regex: `${sign === "~*" ? "(?i)" : ""}${regex}` }];
}

function fieldConditions(
  kind: "header" | "cookie" | "query",
  name: string,
  { sign, value }: NginxTest,
  isWide: boolean,
): Condition[] | null {
  // The names of parameters and cookies count there in any letter case.
  const asked = kind === "header" ? name : slashed(`^${name}$`, true);
  const asking = (wanted: string | boolean): Condition => ({ ...EVERYTHING, match: { [kind]: { [asked]: wanted } } });
  if (value === "" || (sign !== "=" && value === "^$"))
    return isWide ? [asking(false), asking("/^$/")] : [asking(false)];
  if (sign === "=" && isWide) {
    // A text between slashes is an expression.
    return value.startsWith("/") ? null : [asking(value)];
  }
  // A route that lets requests in asks for all values: the first one counts there, or all lines together.
  if (sign === "=") return [asking(slashed(`^${escapedRegex(value)}$`, false, true))];
  if (value === "." && isWide) return [asking(true)];
  const regex = expressionOf(value, isWide);
  if (regex === null) return null;
  const wanted = asking(slashed(regex, sign === "~*", !isWide));
  return isWide && takesNothing(regex) ? [asking(false), wanted] : [wanted];
}

const MAX_WORDS = 64;
const MAX_NAMES_LENGTH = 1000;
