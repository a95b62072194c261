import { type MaskBits, ShownAddresses } from "../../core/address-mask.ts";
import type { WorkerService } from "../../core/worker-service.ts";

/** The part of a configuration that says how addresses are shown. */
interface MaskConfig {
  readonly server: { readonly accessLog: { readonly maskIp: MaskBits | null } };
}

/** `access_log.mask_ip` of the configuration in use, one object a thread. docs/operations.md#addresses */
export class LogAddresses extends ShownAddresses implements WorkerService<MaskConfig> {
  use({ server }: MaskConfig): void {
    this.take(server.accessLog.maskIp);
  }
}
