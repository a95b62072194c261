/** Where the load goes. */
export interface LoadTarget {
  /** As it is in the report. */
  readonly url: string;
  readonly isTls: boolean;
  /** A name or an address, without brackets; TLS asks for it. */
  readonly hostname: string;
  /** What connections go to: the name, or the address that it has turned out to have. */
  readonly address: string;
  readonly port: number;
  /** The Host field. */
  readonly authority: string;
  /** Path and query, as they are sent. */
  readonly path: string;
}

/**
 * Reads the URL of a target: `http://` or `https://`, host, port, path and query.
 * @returns the target, or a text that says what was expected
 */
export function parseTarget(text: string): LoadTarget | string {
  const expected = `expected a URL such as http://127.0.0.1:8080/health, found ${JSON.stringify(text)}`;
  if (!URL.canParse(text)) return expected;
  const url = new URL(text);
  const isTls = url.protocol === "https:";
  if ((!isTls && url.protocol !== "http:") || url.hostname === "") return expected;
  if (url.username !== "" || url.password !== "") return "a URL with user information is not supported";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  if (port === 0) return expected;
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  url.hash = "";
  return {
    url: url.href,
    isTls,
    hostname,
    address: hostname,
    port,
    authority: url.host,
    path: url.pathname + url.search,
  };
}
