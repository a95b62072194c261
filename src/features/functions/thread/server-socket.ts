import type { UpgradeOptions } from "./context.ts";
import type { ThreadLink } from "./thread-link.ts";

/** The server's end of a WebSocket, as `ctx.upgrade()` gives it. */
export class ServerSocket {
  readonly key: string = "";
  readonly protocol: string = "";

  static open(
    _request: Request,
    _options?: UpgradeOptions,
  ): { readonly socket: WebSocket; readonly response: Response } {
    throw new TypeError("ctx.upgrade() is not there yet");
  }

  attach(_link: ThreadLink, _id: number, _onClosed: () => void): void {}

  push(_bytes: Uint8Array): void {}

  taken(_bytes: number): void {}

  end(): void {}
}

/** The socket that a response of `ctx.upgrade()` is for; null for all others. */
export function takeSocket(_response: unknown): ServerSocket | null {
  return null;
}
