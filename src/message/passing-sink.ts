import type { Fault } from "../core/fault.ts";
import type { Exchange, ResponseSink } from "./exchange.ts";
import type { HeaderBlock } from "./header-block.ts";
import type { TunnelEnd } from "./ports.ts";
import type { PrebuiltResponse } from "./prebuilt-response.ts";

/**
 * Between a handler and the client's sink: whatever a subclass does not take for itself reaches the inner sink as it is. A
 * call that is added to `ResponseSink` is passed on here once, for all of them.
 */
export abstract class PassingSink implements ResponseSink {
  protected inner: ResponseSink;

  constructor(inner: ResponseSink) {
    this.inner = inner;
  }

  get returnsBytes(): boolean {
    return this.inner.returnsBytes === true;
  }

  fixed(ex: Exchange, response: PrebuiltResponse): void {
    this.inner.fixed(ex, response);
  }

  interim(ex: Exchange, status: number, headers: HeaderBlock): void {
    this.inner.interim(ex, status, headers);
  }

  head(ex: Exchange): void {
    this.inner.head(ex);
  }

  body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    return this.inner.body(ex, bytes, from, to);
  }

  /** Whether the next bytes of a body pass unchanged. A sink that inspects, buffers or changes bodies says so. */
  protected get passesBody(): boolean {
    return false;
  }

  file(ex: Exchange, fd: number, from: number, to: number): number {
    return this.passesBody ? (this.inner.file?.(ex, fd, from, to) ?? -1) : -1;
  }

  end(ex: Exchange): void {
    this.inner.end(ex);
  }

  abort(ex: Exchange, fault: Fault): void {
    this.inner.abort(ex, fault);
  }

  wantBody(ex: Exchange): void {
    this.inner.wantBody(ex);
  }

  awaitsConsent(ex: Exchange): boolean {
    return this.inner.awaitsConsent?.(ex) === true;
  }

  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    return this.inner.upgrade(ex, tunnel);
  }
}
