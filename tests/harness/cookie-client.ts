/** One response, as a browser without a screen sees it. */
export interface Visited {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What a request is sent with, beside cookies. */
export interface VisitOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: string;
  readonly body?: string;
  /** PEM of the authority to trust. */
  readonly ca?: string;
}

/** A client that goes to pages as people do: it keeps cookies for each host, and follows redirects when it is told to. */
export class CookieClient {
  /** By host name, then by name, as browsers keep them whatever the port. */
  readonly jar: Map<string, Map<string, string>> = new Map();

  constructor(private readonly options: VisitOptions = {}) {}

  /** One request, no redirect is followed. */
  async get(address: string, options: VisitOptions = {}): Promise<Visited> {
    const url = new URL(address);
    const cookies = [...(this.jar.get(url.hostname) ?? [])].map(([name, value]) => `${name}=${value}`).join("; ");
    const { ca } = { ...this.options, ...options };
    const response = await fetch(url, {
      method: options.method ?? "GET",
      ...(options.body === undefined ? {} : { body: options.body }),
      redirect: "manual",
      headers: {
        accept: "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
        ...(cookies === "" ? {} : { cookie: cookies }),
        ...this.options.headers,
        ...options.headers,
      },
      ...(ca === undefined ? {} : { tls: { ca } }),
    });
    for (const line of response.headers.getSetCookie()) this.keep(url.hostname, line);
    return { url: url.href, status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Follows redirects to their end. */
  async go(address: string, options: VisitOptions = {}): Promise<Visited> {
    let at = address;
    for (let hops = 0; hops < 20; hops++) {
      const visited = await this.get(at, options);
      const location = visited.headers.get("location");
      if (visited.status < 300 || visited.status > 399 || location === null) return visited;
      at = new URL(location, at).href;
    }
    throw new Error(`too many redirects, at ${at}`);
  }

  /** Follows redirects until one leads to an address that begins so, which is not asked for. */
  async until(address: string, prefix: string): Promise<string> {
    let at = address;
    for (let hops = 0; hops < 20 && !at.startsWith(prefix); hops++) {
      const { headers, status } = await this.get(at);
      const location = headers.get("location");
      if (location === null) throw new Error(`${at} answers ${status} and leads nowhere`);
      at = new URL(location, at).href;
    }
    return at;
  }

  /** The cookies of a host whose names hold a text. */
  cookies(host: string, part = ""): [name: string, value: string][] {
    return [...(this.jar.get(host) ?? [])].filter(([name]) => name.includes(part));
  }

  private keep(host: string, line: string): void {
    const [pair = "", ...attributes] = line.split(/; */);
    const name = pair.slice(0, pair.indexOf("="));
    const cookies = this.jar.get(host) ?? new Map<string, string>();
    this.jar.set(host, cookies);
    if (attributes.some((one) => /^max-age=0$/i.test(one))) cookies.delete(name);
    else cookies.set(name, pair.slice(pair.indexOf("=") + 1));
  }
}
