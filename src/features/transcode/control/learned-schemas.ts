import type { ControlService } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { spreadWait } from "../../../core/spread-wait.ts";
import type { NameResolver } from "../../../net/name-resolver.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { TRANSCODE_EVENTS } from "../events.ts";
import { LEARNED_SET, type LearnedSchema } from "./learned-schema.ts";

/** Milliseconds until the next attempt after one that failed; each time twice as long, up to the second. */
const LEARN_BACKOFF_MS = 500;
const LEARN_BACKOFF_MAX_MS = 30_000;

/** Milliseconds that a start waits for the services of its upstreams. */
const LEARN_START_MS = 2000;

/** What the learning of schemas asks of the control thread. */
interface LearningPorts {
  /** Something new was learned: what `applied` gives is another configuration now. */
  readonly changed: () => void;
  readonly event: EventWriter<typeof TRANSCODE_EVENTS>;
  /** Finds the upstream's addresses. */
  readonly names: () => NameResolver;
}

/**
 * The routes of `auto` if no descriptor set is named: the control thread asks the upstream by reflection, at the start, at reloads
 * and from time to time, and brings what it learns to the workers as part of the configuration. docs/transcoder.md#auto-by-reflection
 */
export class LearnedSchemas implements ControlService<RuntimeConfig> {
  private readonly port: LearningPorts;
  private learned: LearnedSchema | null = null;
  private config: RuntimeConfig | null = null;
  /** Counts what was begun: an attempt for an earlier configuration changes nothing. */
  private round = 0;
  private failures = 0;
  private timer: Timer | null = null;

  constructor(port: LearningPorts) {
    this.port = port;
  }

  /**
   * Begins with a configuration as the files say it; nothing if it is in use already.
   * @returns when the first attempt is over, or takes too long for a start to wait
   */
  async use(_: RuntimeConfig, config: RuntimeConfig): Promise<void> {
    if (config === this.config) return;
    const before = this.config;
    this.config = config;
    this.stop();
    const source = sourceOf(config);
    if (source === "") this.learned = null;
    if (before === null || sourceOf(before) !== source) this.failures = 0;
    // An upstream that is there has its routes from the first request on.
    if (source !== "") await Promise.race([this.attempt(config, source), Bun.sleep(LEARN_START_MS)]);
  }

  stop(): void {
    this.round++;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  /** The configuration with the routes of what was learned; until then its transcoder is pending. */
  applied(config: RuntimeConfig): RuntimeConfig {
    const source = sourceOf(config);
    if (source === "") return config;
    const { transcoder } = config;
    if (this.learned?.source !== source) return { ...config, transcoder: { ...transcoder, isPending: true } };
    const { routes } = learning().routesOf(config, this.learned);
    const set = { file: LEARNED_SET, base64: this.learned.base64 };
    const descriptorSets = [...transcoder.descriptorSets, set];
    return {
      ...config,
      transcoder: { ...transcoder, routes: [...transcoder.routes, ...routes], descriptorSets, isPending: false },
    };
  }

  private async attempt(config: RuntimeConfig, source: string): Promise<void> {
    const { round } = this;
    const result = await learning().learnSchema(config, this.port.names());
    if (round !== this.round) return;
    const upstream = config.transcoder.reflected!.upstream.originKey;
    if (result.ok) this.take({ source, base64: result.base64 }, config, upstream);
    else if (this.failures++ === 0) {
      this.port.event("schema_failed", { upstream, error: result.error, kept: this.learned?.source === source });
    }
    const backoffMs = Math.min(LEARN_BACKOFF_MAX_MS, LEARN_BACKOFF_MS * 2 ** Math.min(16, this.failures - 1));
    const afterMs = result.ok ? config.transcoder.auto.refreshMs : spreadWait(backoffMs, 0.2);
    this.timer = setTimeout(() => void this.attempt(config, source), afterMs);
  }

  private take(learned: LearnedSchema, config: RuntimeConfig, upstream: string): void {
    const hadFailed = this.failures > 0;
    this.failures = 0;
    const isNew = this.learned?.source !== learned.source || this.learned.base64 !== learned.base64;
    if (!isNew && !hadFailed) return;
    this.learned = learned;
    const { routes, notes } = learning().routesOf(config, learned);
    this.port.event("schema_learned", {
      upstream,
      routes: routes.length,
      ...(notes.length > 0 ? { skipped: notes } : {}),
    });
    if (isNew) this.port.changed();
  }
}

/** Which upstream a configuration learns from; "" if it does not. */
function sourceOf({ transcoder }: RuntimeConfig): string {
  const { enabled, reflected, tls } = transcoder;
  if (!enabled || reflected === null) return "";
  const { services, exclude } = transcoder.auto;
  return JSON.stringify([reflected.upstream.originKey, reflected.upstream.basePath, tls, services, exclude]);
}

/** What reads descriptors is loaded only if there is something to learn; see finishTranscoder. */
function learning(): typeof import("./schema-learning.ts") {
  return require("./schema-learning.ts") as typeof import("./schema-learning.ts");
}
