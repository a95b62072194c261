import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Where the control plane listens, in its network namespace. */
export const API = "10.90.0.1";
export const NODE = "node0";

/** An object, as far as the harness looks at it. */
export interface Item {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
  };
  // Other members differ by kind.
  readonly [member: string]: Any;
}

// biome-ignore lint/suspicious/noExplicitAny: objects of others, in a harness
export type Any = any;

/** Asks the API server as its administrator. */
export class AdminApi {
  private readonly tls: { readonly ca: string; readonly cert: string; readonly key: string };

  constructor(home: string) {
    const text = (name: string) => readFileSync(join(home, "pki", name), "utf8");
    this.tls = { ca: text("ca.crt"), cert: text("admin.crt"), key: text("admin.key") };
  }

  async call(
    method: string,
    path: string,
    body?: object,
    type = "application/json",
  ): Promise<{ status: number; body: Any }> {
    const reply = await fetch(`https://${API}:6443${path}`, {
      method,
      headers: { "Content-Type": type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      tls: this.tls,
    });
    const text = await reply.text();
    return { status: reply.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  async list(path: string): Promise<readonly Item[]> {
    const { body } = await this.call("GET", path);
    return body.items ?? [];
  }

  patch(path: string, body: object): Promise<{ status: number; body: Any }> {
    return this.call("PATCH", path, body, "application/merge-patch+json");
  }

  /** Server-side apply of an object. */
  async apply(object: Any): Promise<void> {
    const { apiVersion, kind, metadata } = object;
    const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    for (let left = 100; ; left--) {
      const { body } = await this.call("GET", base);
      const resource = body.resources?.find((one: Any) => one.kind === kind && !one.name.includes("/"));
      if (resource === undefined && left > 0) {
        await Bun.sleep(100);
        continue;
      }
      if (resource === undefined) throw new Error(`no resource for ${apiVersion} ${kind}`);
      const place = resource.namespaced ? `/namespaces/${metadata.namespace ?? "default"}` : "";
      const path = `${base}${place}/${resource.name}/${metadata.name}?fieldManager=harness&force=true`;
      const reply = await this.call("PATCH", path, object, "application/apply-patch+yaml");
      if (reply.status >= 300) throw new Error(`${kind} ${metadata.name}: ${reply.status} ${reply.body.message}`);
      return;
    }
  }
}
