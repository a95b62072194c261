import { RawClient, request } from "../harness/raw-client.ts";
import type { FuzzOrigin } from "./fuzz-origin.ts";

/** A client on a persistent connection that asks for the canary between attacks. */
export class CanaryClient {
  private client: RawClient | null = null;

  constructor(
    private readonly port: number,
    private readonly origin: FuzzOrigin,
  ) {}

  /** One canary: what is wrong with it, or null. The connection itself must never be lost to somebody else's attack. */
  async sing(): Promise<string | null> {
    this.client ??= await RawClient.connect(this.port);
    const expected = this.origin.sequence + 1;
    try {
      const reply = await this.client.exchange(request("GET /node/canary", ["X-Fuzz: canary"]));
      if (reply.status !== 200) return `the canary got ${reply.status} ${reply.text}`;
      if (reply.text !== `canary ${expected}`) return `wanted canary ${expected}, got ${reply.text}`;
      return this.origin.sequence === expected ? null : `the origin counts ${this.origin.sequence}, not ${expected}`;
    } catch (error) {
      return `the canary's connection failed: ${String(error)}`;
    }
  }

  close(): void {
    this.client?.close();
    this.client = null;
  }
}
