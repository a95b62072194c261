import { freePort, type Gateway, startGateway } from "./gateway.ts";

/** A gateway that is a sidecar, with its ports. */
export interface Sidecar {
  readonly gateway: Gateway;
  readonly ingress: number;
  readonly egress: number;
}

/** Starts one on ports of its own. @param settings laid over `sidecar:` @param config the other sections */
export async function startSidecar(
  settings: object,
  files: Readonly<Record<string, string>> = {},
  config: object = {},
): Promise<Sidecar> {
  const ports = { ingress: freePort(), egress: freePort() };
  const gateway = await startGateway({
    config: {
      ...config,
      sidecar: {
        enabled: true,
        ingress_host: "127.0.0.1",
        ingress_port: ports.ingress,
        egress_port: ports.egress,
        ...settings,
      },
    },
    files,
  });
  return { gateway, ...ports };
}

/** The keys that name the files of a sidecar's certificate, its key and its authority. */
export const OWN_FILES = { cert_file: "cert.pem", key_file: "key.pem", ca_file: "ca.pem" } as const;
