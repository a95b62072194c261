/**
 * Whether a request's host is one that no page of the web can have: an address, none at all, a name without a dot such as
 * `localhost` or the machine's own, or one that is never given away (RFC 2606 §2 and §3). Every other name may belong to
 * an attacker who lets it resolve to 127.0.0.1, so that a page of theirs, open in a browser on this machine, is of one
 * origin with the gateway.
 * @param host as `requestHost` gives it
 */
export function isLocalName(host: string): boolean {
  return host.startsWith("[") || ADDRESS.test(host) || !host.includes(".") || RESERVED.test(host);
}

/** What browsers take for an IPv4 address, and never look up. */
const ADDRESS = /^[\d.]+$/;
const RESERVED = /(^|\.)(test|example|invalid|localhost|example\.(com|net|org))$/;
