import { eventually } from "./eventually.ts";

/** One event of `/internal/api/stream`; the test says which fields it expects. */
export type LiveEvent = Readonly<Record<string, never>> & { readonly at: number };

/** A watcher of the live stream. */
export class LiveStream {
  readonly events: LiveEvent[] = [];
  /** Whether the gateway has ended the stream in order. */
  hasEnded = false;
  private readonly ending: AbortController;

  private constructor(
    readonly response: Response,
    ending: AbortController,
  ) {
    this.ending = ending;
    void this.read();
  }

  static async open(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LiveStream> {
    const ending = new AbortController();
    return new LiveStream(await fetch(`${url}/internal/api/stream`, { headers, signal: ending.signal }), ending);
  }

  /** The first event, from now on or before, for which `matches` holds. */
  until<T extends object>(matches: (event: T) => boolean): Promise<T> {
    return eventually(() => {
      const found = (this.events as unknown as T[]).findLast(matches);
      if (found === undefined) throw new Error(`no such event among ${this.events.length}`);
      return found;
    }, 20_000);
  }

  close(): void {
    this.ending.abort();
  }

  private async read(): Promise<void> {
    if (this.response.status !== 200) return;
    let rest = "";
    try {
      for await (const bytes of this.response.body!.pipeThrough(new TextDecoderStream() as never)) {
        rest += bytes as unknown as string;
        for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
          const [name, text] = [rest.slice(0, 6), rest.slice(6, end)];
          if (name !== "data: ") throw new Error(`no event: ${name}`);
          this.events.push(JSON.parse(text) as LiveEvent);
          rest = rest.slice(end + 2);
        }
      }
      this.hasEnded = rest === "";
    } catch {
      // It was closed here, or cut.
    }
  }
}
