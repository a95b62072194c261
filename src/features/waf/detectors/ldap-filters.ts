import { Byte, classOf } from "../../../core/bytes.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, VALUES, type WafRule } from "../rule.ts";

const FILTER: WafRule = {
  id: "LDAP-001",
  category: "ldap",
  score: CRITICAL_SCORE,
  description: "LDAP filter that closes the application's or adds a condition to it",
  keywords: [")(", ") (", "(|", "(&", "(!", "( |", "( &", "( !", "*))"],
  crs: [921200],
};

const WHOLE_FILTER: WafRule = {
  id: "LDAP-002",
  category: "ldap",
  score: CRITICAL_SCORE,
  description: "condition of an LDAP filter, whole or in part",
  level: 2,
  profiles: ["ldap"],
};

/** Filters of directories. RFC 4515 §3. */
export const LDAP_GROUP: DetectorGroup = {
  rules: [FILTER, WHOLE_FILTER],
  locations: VALUES,
  keywords: () => [],
  detectors: () => [{ analyse: findFilters }],
};

/**
 * Finds `(attribute=` with an attribute that directories have, after brackets and signs of a filter that no name is followed by:
 * `*)(uid=*`, `(|(mail=*))`, `(&(cn=a)(!(…`.
 */
function findFilters(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  let whole = -1;
  let depth = 0;
  // Whether a bracket has closed that none had opened, or one has opened right after an asterisk: the application's filter is over.
  let isOver = false;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    if (byte === Byte.OpenParen) isOver ||= depth++ === 0 && bytes[at - 1] === Byte.Star;
    else if (byte === Byte.CloseParen) isOver ||= --depth < 0;
    if (byte !== Byte.Equals) continue;
    const end = bytes[at - 1] === TILDE || bytes[at - 1] === Byte.Less || bytes[at - 1] === Byte.Greater ? at - 1 : at;
    let from = end;
    while (from > 0 && end - from <= MAX_ATTRIBUTE && ATTRIBUTE[bytes[from - 1]!] === 1) from--;
    const attribute = ATTRIBUTES.valueOf(bytes, from, end);
    if (attribute === 0 || !isOpened(bytes, from)) continue;
    if (attribute === SECRET || isOver) return listener.found(FILTER, from);
    whole = from;
  }
  if (whole >= 0) listener.found(WHOLE_FILTER, whole);
}

/** Whether a bracket that opens, and one that closes or a sign, are in front of the attribute. */
function isOpened(bytes: Uint8Array, from: number): boolean {
  let opens = 0;
  let others = 0;
  for (let at = from - 1; at >= 0 && at >= from - MAX_MARKS; at--) {
    const byte = bytes[at]!;
    if (byte === Byte.OpenParen) opens++;
    else if (byte === Byte.CloseParen || byte === Byte.Bar || byte === Byte.Ampersand || byte === Byte.Bang) others++;
    else if (byte !== Byte.Space) break;
  }
  return opens > 0 && others > 0;
}

const ATTRIBUTE: Uint8Array = classOf("a-z0-9-;.");
/** What no filter of an application asks for. */
const SECRET = 2;
const ATTRIBUTES: WordSet = new WordSet([
  [SECRET, "userpassword unicodepwd password"],
  [1, "uid cn sn dc ou dn o mail objectclass objectcategory objectguid objectsid"],
  [1, "samaccountname userprincipalname givenname displayname memberof member uniquemember memberuid uidnumber"],
  [1, "gidnumber homedirectory loginshell description telephonenumber mobile employeenumber department title"],
  [1, "useraccountcontrol accountexpires pwdlastset distinguishedname name user username login pass manager"],
]);
const MAX_ATTRIBUTE = 32;
const MAX_MARKS = 8;
const TILDE = 0x7e;
