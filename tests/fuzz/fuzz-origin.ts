import { type OriginScript, ScriptedOrigin } from "../harness/scripted-origin.ts";

/** A request that came to the origin complete, head and body. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
}

/** The origin behind the gateway under fuzz: it keeps what came complete, counts canaries, and answers one path freely. */
export class FuzzOrigin {
  sequence = 0;
  readonly seen: SeenRequest[] = [];
  /** What `/answer` does. */
  answer: OriginScript = (call) => call.reply("200 OK");
  private readonly origin = ScriptedOrigin.start();

  constructor() {
    this.origin.otherwise(async (call) => {
      const body = (await call.body()).bytes.toString("latin1");
      this.seen.push({ method: call.request.method, target: call.request.target, body });
      call.reply("200 OK", [], call.request.method === "HEAD" ? "" : "seen");
    });
    this.origin.on("/canary", async (call) => {
      // A canary with a body or another method is an attack's, not ours.
      const body = (await call.body()).bytes.toString("latin1");
      if (call.request.fields.get("x-fuzz") === null) {
        this.seen.push({ method: call.request.method, target: call.request.target, body });
      } else this.sequence++;
      call.reply("200 OK", [], `canary ${this.sequence}`);
    });
    this.origin.on("/answer", (call) => this.answer(call));
  }

  get url(): string {
    return this.origin.url;
  }

  /** What broke HTTP/1.1 on its way to the origin. */
  get violations(): readonly string[] {
    return this.origin.violations;
  }

  /** Takes what has come since the last call. */
  takeSeen(): SeenRequest[] {
    return this.seen.splice(0);
  }

  /** Forgets the connections that are over, so that a long run does not collect them. */
  forget(): void {
    this.origin.requests.length = 0;
    const open = this.origin.connections.filter((connection) => !connection.isClosed);
    this.origin.connections.splice(0, this.origin.connections.length, ...open);
  }

  stop(): void {
    this.origin.stop();
  }
}
