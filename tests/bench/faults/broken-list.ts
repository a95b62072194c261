import { type Break, fieldBlock, frame, says, saysAndCloses, saysAndResets } from "../../harness/broken-origins.ts";

/** An origin that breaks in one way. */
export interface BrokenOrigin {
  readonly name: string;
  /** What it does once something has come; or where nothing listens at all. */
  readonly act: Break | "refused" | "backlog" | "no socket";
  /** How the gateway speaks to it. */
  readonly scheme: "http" | "https";
  /** The certificate that it shows, by its flaw; without one it speaks no TLS. */
  readonly certificate?: "self-signed" | "unknown issuer" | "expired" | "another name";
}

const OK = "HTTP/1.1 200 OK\r\n";
const EMPTY = `${OK}Content-Length: 0\r\n\r\n`;
const ALERT = "\x15\x03\x03\x00\x02\x02\x28";
const FIELDS = Array.from({ length: 300 }, (_, i) => `x-${i}: 1\r\n`).join("");

/** Thirty of them, in the order of a request: name and connection, TLS, protocol, head, body. */
export const BROKEN_ORIGINS: readonly BrokenOrigin[] = [
  plain("no process listens", "refused"),
  plain("the queue of connections is full", "backlog"),
  plain("the UNIX socket is not there", "no socket"),
  tls("TLS: answers in clear text", saysAndCloses("HTTP/1.1 400 Bad Request\r\n\r\n")),
  tls("TLS: closes in the handshake", saysAndCloses()),
  tls("TLS: is silent in the handshake", says()),
  tls("TLS: sends an alert", saysAndCloses(ALERT)),
  tls("TLS: self-signed certificate", saysAndCloses(EMPTY), "self-signed"),
  tls("TLS: certificate of an unknown issuer", saysAndCloses(EMPTY), "unknown issuer"),
  tls("TLS: expired certificate", saysAndCloses(EMPTY), "expired"),
  tls("TLS: certificate for another name", saysAndCloses(EMPTY), "another name"),
  plain("speaks TLS on a cleartext port", saysAndCloses(ALERT)),
  plain("speaks HTTP/2", saysAndCloses(frame(4, 0, 0), frame(1, 5, 1, fieldBlock([":status", "200"])))),
  plain("speaks SSH", saysAndCloses("SSH-2.0-OpenSSH_9.2\r\n")),
  plain("closes without a byte", saysAndCloses()),
  plain("resets without a byte", saysAndResets()),
  plain("closes within the head", saysAndCloses(`${OK}Content-Le`)),
  plain("sends nothing", says()),
  plain("stops within the head", says(OK)),
  plain("status that is no number", saysAndCloses("HTTP/1.1 2x0 OK\r\n\r\n")),
  plain(
    "101 that nothing asked for",
    says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
  ),
  plain("space before a colon", saysAndCloses(`${OK}X-A : 1\r\nContent-Length: 0\r\n\r\n`)),
  plain("two lengths", saysAndCloses(`${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`)),
  plain("length and chunked", saysAndCloses(`${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)),
  plain("300 fields", saysAndCloses(`${OK}${FIELDS}Content-Length: 0\r\n\r\n`)),
  plain("head of 100 KB", saysAndCloses(`${OK}X-A: ${"a".repeat(100_000)}\r\nContent-Length: 0\r\n\r\n`)),
  plain("malformed chunk", saysAndCloses(`${OK}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`)),
  plain("closes within the body", saysAndCloses(`${OK}Content-Length: 9\r\n\r\nhello`)),
  plain("resets within the body", saysAndResets(`${OK}Content-Length: 9\r\n\r\nhello`)),
  plain("stops within the body", says(`${OK}Content-Length: 9\r\n\r\nhello`)),
];

function plain(name: string, act: BrokenOrigin["act"]): BrokenOrigin {
  return { name, act, scheme: "http" };
}

function tls(name: string, act: Break, certificate?: BrokenOrigin["certificate"]): BrokenOrigin {
  return certificate === undefined ? { name, act, scheme: "https" } : { name, act, scheme: "https", certificate };
}
