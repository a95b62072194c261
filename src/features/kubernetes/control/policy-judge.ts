import { formatFault } from "../../../config/config-fault.ts";
import { ConfiguredFiles, NoFiles } from "../../../config/configured-file.ts";
import { FaultLog } from "../../../config/fault-log.ts";
import { type Form, type FormRows, formsIn } from "../../../config/form.ts";
import { SharedParts } from "../../../config/shared-parts.ts";
import { trimmedEnd } from "../../../core/trimming.ts";
import { resolveRoutes } from "../../../loading/route-resolution.ts";
import { asItIs } from "../../../loading/source-listeners.ts";
import { POLICY_KEYS, SECRET_LISTS } from "../../../routes/policy-keys.ts";
import { configFile } from "../../../settings/config-settings.ts";
import type { Sections } from "../../../settings/sections.ts";
import type { ObjectStore } from "../object-store.ts";
import type { PolicyJudge } from "../policy/policy-table.ts";
import { secretPairs, secretText } from "../secret-lists.ts";

type Keys = Readonly<Record<string, unknown>>;

/** So many faults of a policy are named. */
const MAX_FAULTS = 5;

/** Judges a policy as `edge check` judges a route with its keys; it may name no file. docs/kubernetes-policies.md */
export const judgePolicy: PolicyJudge = (keys, namespace, store) => {
  const values = new SecretValues(namespace, store);
  const unknown = Object.keys(keys).filter((key) => !Object.hasOwn(POLICY_KEYS, key));
  const resolved = Object.fromEntries(
    Object.entries(keys).flatMap(([key, value]) =>
      Object.hasOwn(POLICY_KEYS, key) ? [[key, values.in(value, POLICY_KEYS[key]!.type.form)]] : [],
    ),
  );
  const faults = [...unknown.map((key) => `${key}: a policy has no such key`), ...values.faults];
  return { keys: resolved, faults: (faults.length > 0 ? faults : faultsOf(resolved)).slice(0, MAX_FAULTS) };
};

function faultsOf(keys: Keys): string[] {
  const log = new FaultLog(asItIs("", null));
  const { server, proxy, cluster } = defaults();
  const route = { type: "upstream", prefix: "/", target: "http://127.0.0.1:1", ...keys };
  const spot = { path: [], log, files: new NoFiles(log, "/", "which a policy may not do") };
  resolveRoutes([route], { ...spot, server, proxy, cluster, parts: new SharedParts(), knownWafRules: [], maps: [] });
  return log.faults.map((fault) =>
    formatFault({ ...fault, file: "", path: fault.path.replace(/^\[0\]\.?/, "") }).replace(/^[:\d ]*/, ""),
  );
}

let known: Sections | null = null;

/** The settings of a gateway without a configuration. */
function defaults(): Sections {
  if (known !== null) return known;
  const log = new FaultLog(asItIs("", null));
  known = configFile.resolve(log.read(configFile, {}, [], 1), { path: [], log, files: new ConfiguredFiles(log, "/") });
  return known;
}

/** Puts values in the place of references to Secrets. */
class SecretValues {
  readonly faults: string[] = [];

  private readonly namespace: string;
  private readonly store: ObjectStore;

  constructor(namespace: string, store: ObjectStore) {
    this.namespace = namespace;
    this.store = store;
  }

  in(value: unknown, form: Form): unknown {
    if (typeof value !== "object" || value === null) return value;
    const forms = formsIn(form);
    if (Array.isArray(value)) {
      const list = forms.find(({ is }) => is === "list") as { readonly item: Form } | undefined;
      return list === undefined ? value : value.map((one) => this.in(one, list.item));
    }
    const section = forms.find(({ is }) => is === "section") as { readonly rows: FormRows } | undefined;
    if (section !== undefined) return this.section(value as Keys, section.rows);
    const isSecret = forms.some((one) => one.is === "text" && one.names === "secret");
    return isSecret ? this.value(value as Keys) : value;
  }

  private section(value: Keys, rows: FormRows): Keys {
    const made: [string, unknown][] = [];
    for (const [key, one] of Object.entries(value)) {
      const list = Object.hasOwn(SECRET_LISTS, key) ? SECRET_LISTS[key] : undefined;
      if (list !== undefined && Object.hasOwn(rows, list.file)) made.push([list.values, this.pairs(one)]);
      else made.push([key, Object.hasOwn(rows, key) ? this.in(one, rows[key]!.type.form) : one]);
    }
    return Object.fromEntries(made);
  }

  private value({ name, key }: Keys): string {
    const text = secretText(this.store, this.namespace, String(name), String(key));
    if (text === null) this.faults.push(`the Secret ${this.namespace}/${name} has no ${key}`);
    return trimmedEnd(text ?? "", "\r\n");
  }

  private pairs(one: unknown): Keys {
    const { name = "", key = "" } = (one ?? {}) as Keys;
    const found = secretPairs(this.store, this.namespace, String(name), String(key));
    if (typeof found !== "string") return found;
    this.faults.push(found);
    return {};
  }
}
