import type { LiveState } from "../live-state.ts";

/** How the page is connected. */
export type Connection =
  | { readonly kind: "connecting" | "live" | "locked" }
  | { readonly kind: "waiting"; readonly retryMs: number; readonly why: string };

/** Who learns of the stream. */
interface FeedListener {
  onState(state: LiveState): void;
  onConnection(connection: Connection): void;
}

const TOKEN = "edge-token";
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 8000;
/** Without an event for so long the connection counts as lost. */
const SILENCE_MS = 5000;

/** The live stream, which is opened again as often as it ends. */
export class Feed {
  private readonly listener: FeedListener;
  private retryMs = FIRST_RETRY_MS;
  private timer = 0;
  private current: AbortController | null = null;

  constructor(listener: FeedListener) {
    this.listener = listener;
  }

  start(): void {
    clearTimeout(this.timer);
    this.current?.abort();
    const attempt = new AbortController();
    this.current = attempt;
    this.listener.onConnection({ kind: "connecting" });
    this.read(attempt).then(
      (why) => this.again(attempt, why),
      () => this.again(attempt, "No connection to the gateway"),
    );
  }

  /** @returns why it has ended; "" if it is no use to try again */
  private async read(attempt: AbortController): Promise<string> {
    let silence = setTimeout(() => attempt.abort(), SILENCE_MS);
    try {
      const response = await fetch("api/stream", { headers: credentials(), signal: attempt.signal, cache: "no-store" });
      if (response.status === 401) {
        this.listener.onConnection({ kind: "locked" });
        return "";
      }
      if (response.status !== 200 || response.body === null) return refusalOf(response);
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "The gateway has ended the stream";
        clearTimeout(silence);
        silence = setTimeout(() => attempt.abort(), SILENCE_MS);
        rest += value;
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
          this.take(rest.slice(0, end));
          rest = rest.slice(end + 2);
        }
      }
    } finally {
      clearTimeout(silence);
    }
  }

  private take(event: string): void {
    if (!event.startsWith("data: ")) return;
    this.retryMs = FIRST_RETRY_MS;
    this.listener.onConnection({ kind: "live" });
    this.listener.onState(JSON.parse(event.slice(6)) as LiveState);
  }

  private again(attempt: AbortController, why: string): void {
    if (attempt !== this.current || why === "") return;
    const { retryMs } = this;
    this.retryMs = Math.min(LAST_RETRY_MS, retryMs * 2);
    this.listener.onConnection({ kind: "waiting", retryMs, why });
    this.timer = setTimeout(() => this.start(), retryMs);
  }
}

async function refusalOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => ({}))) as { message?: unknown };
  return `${response.status}: ${typeof body.message === "string" ? body.message : response.statusText}`;
}

/** What shows who asks. */
export function credentials(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { Authorization: `Bearer ${token}` };
}

/** Keeps a token until the tab is closed. */
export function keepToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** Asks an endpoint to do something. @throws an Error that says why it was not done */
export async function act(path: string, call: object): Promise<Record<string, unknown>> {
  const response = await fetch(`api/${path}`, {
    method: "POST",
    headers: { ...credentials(), "Content-Type": "application/json" },
    body: JSON.stringify(call),
  });
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.ok) return body;
  const faults = Array.isArray(body.faults) ? body.faults.join("\n") : "";
  throw new Error(faults || String(body.message ?? `${response.status} ${response.statusText}`));
}

/** The configuration in use. @throws an Error that says why it is not shown */
export async function configuration(): Promise<string> {
  const response = await fetch("api/config", { headers: credentials(), cache: "no-store" });
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  return response.text();
}
