import { Fault } from "../../core/fault.ts";
import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { Framing } from "../../message/request-head.ts";

/** Who writes what an operator should know. */
interface WarningListener {
  onWarning(message: string, method: string, path: string, limitBytes: number): void;
}

/** Each 413 leaves a warning that names method, path and limit. docs/sidecar.md#bodies */
export class BodyWarningTap implements ResponseTap {
  readonly name = "bodyWarning";
  private readonly listener: WarningListener;

  constructor(listener: WarningListener) {
    this.listener = listener;
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    if (ex.fault !== Fault.BodyTooLarge) return;
    const { request, maxBodyBytes } = ex;
    const what = request.framing === Framing.Length ? "declared Content-Length exceeds" : "request body exceeds";
    const method = request.methodText();
    const path = request.path();
    this.listener.onWarning(`${method} ${path}: ${what} ${maxBodyBytes} bytes`, method, path, maxBodyBytes);
  }
}
