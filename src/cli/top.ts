import type { HeldSignals } from "../control/held-signals.ts";
import { mayColor } from "../control/start-summary.ts";
import type { LiveState } from "../features/dashboard/live-state.ts";
import { FullScreen } from "../tools/watch/full-screen.ts";
import { liveStates } from "../tools/watch/live-source.ts";
import { LiveRates } from "../tools/watch/rates.ts";
import { COLORS, ENDLESS, fitted, NO_COLORS } from "../tools/watch/text.ts";
import { rowCount, SORTS, type Sort, type TopChoice, topLines, topText, viewsOf } from "../tools/watch/top-view.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { findGateway, GATEWAY_FLAGS, type GatewayApi, GatewayFault } from "./gateway-address.ts";
import { isTerminal } from "./is-terminal.ts";

/** The command as `edge help top` shows it. */
export const topCommand = {
  name: "edge top",
  page: "tools.md#top",
  summary:
    "Watches the running gateway, a screen a second: routes, upstreams, clients, functions. In a pipe it prints one table.",
  flags: GATEWAY_FLAGS,
  notes: [
    "Keys: q quits; 1 to 4 or Tab choose routes, upstreams, clients or functions; r, e, l, b, n sort by requests, errors, latency, bytes, name; arrows and Page keys scroll; p pauses.",
    "Without --socket and --url the gateway is found by the configuration that edge serve would take here.",
    "Exit codes: 0 left by the user, or the table is printed; 1 no gateway answers; 2 wrong usage.",
  ],
} as const;

/** `edge top`. docs/tools.md#top */
export async function runTop(args: readonly string[], io: CommandIo, signals: HeldSignals): Promise<number> {
  const call = startCommand(topCommand, args, io);
  if (typeof call === "number") return call;
  const gateway = findGateway(call.values, io, topCommand.name);
  if (gateway === null) return ExitCode.Failure;
  try {
    if (!isTerminal(STDOUT)) return await printOnce(gateway, io);
    return await new Top(gateway).run(signals);
  } catch (error) {
    if (!(error instanceof GatewayFault)) throw error;
    io.err(`edge top: ${error.message}\n`);
    return ExitCode.Failure;
  }
}

/** What a second has brought is known at the second event. */
async function printOnce(gateway: GatewayApi, io: CommandIo): Promise<number> {
  const rates = new LiveRates();
  const response = await gateway.openStream();
  try {
    let events = 0;
    for await (const state of liveStates(response)) {
      rates.add(state);
      if (++events < EVENTS_OF_A_TABLE) continue;
      io.out(topText(state, rates, gateway.label, { width: ENDLESS, height: 0, paints: NO_COLORS }));
      return ExitCode.Done;
    }
  } catch (error) {
    throw new GatewayFault(`${gateway.label}: the stream broke off: ${(error as Error).message}`);
  } finally {
    response.destroy();
  }
  throw new GatewayFault(`${gateway.label}: the stream ended`);
}

/** The command on a terminal. */
class Top {
  private readonly gateway: GatewayApi;
  private readonly screen: FullScreen;
  private readonly over = Promise.withResolvers<number>();
  private rates: LiveRates = new LiveRates();
  private state: LiveState | null = null;
  private choice: TopChoice = { view: "routes", sort: "r", from: 0, isPaused: false };
  private trouble = "";
  private isOver = false;
  private response: { destroy(): unknown } | null = null;

  constructor(gateway: GatewayApi) {
    this.gateway = gateway;
    this.screen = new FullScreen(
      (key) => this.onKey(key),
      () => this.draw(),
    );
  }

  /** @throws GatewayFault if no stream can be had to begin with */
  async run(signals: HeldSignals): Promise<number> {
    const first = await this.gateway.openStream();
    const quit = (): void => this.over.resolve(ExitCode.Done);
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, quit);
    // The terminal is gone.
    signals.react({ SIGHUP: quit });
    this.screen.enter();
    try {
      void this.follow(first).catch((error) => this.over.reject(error));
      return await this.over.promise;
    } finally {
      this.isOver = true;
      this.response?.destroy();
      this.screen.leave();
    }
  }

  private async follow(first: Awaited<ReturnType<GatewayApi["openStream"]>>): Promise<void> {
    let response: typeof first | null = first;
    while (!this.isOver) {
      try {
        response ??= await this.gateway.openStream();
        this.response = response;
        for await (const state of liveStates(response)) this.take(state);
        this.trouble = "the stream has ended; trying again";
      } catch (error) {
        this.trouble = `${(error as Error).message}; trying again`;
      }
      response?.destroy();
      response = null;
      if (this.isOver) return;
      // What comes may be another process, whose counts begin anew.
      this.rates = new LiveRates();
      this.draw();
      await Bun.sleep(RETRY_MS);
    }
  }

  private take(state: LiveState): void {
    this.trouble = "";
    if (this.choice.isPaused) return;
    this.rates.add(state);
    this.state = state;
    this.draw();
  }

  private draw(): void {
    const { screen, state } = this;
    const { width, height } = screen;
    const paints = mayColor(process.env) ? COLORS : NO_COLORS;
    const label = this.gateway.label;
    const lines = state === null ? [] : topLines(state, this.rates, label, this.choice, { width, height, paints });
    if (this.trouble !== "") lines[1] = paints.bad(fitted(this.trouble, width));
    screen.draw(lines);
  }

  private onKey(key: string): void {
    const { choice } = this;
    if (key === "q") {
      this.over.resolve(ExitCode.Done);
      return;
    }
    const views = viewsOf(this.state);
    const view =
      views[Number(key) - 1] ?? (key === "\t" ? views[(views.indexOf(choice.view) + 1) % views.length]! : null);
    if (view !== null) this.choice = { ...choice, view, from: 0, hasHelp: false };
    else if (key === "?") this.choice = { ...choice, from: 0, hasHelp: choice.hasHelp !== true };
    else if (key in SORTS) this.choice = { ...choice, sort: key as Sort };
    else if (key === "p" || key === " ") this.choice = { ...choice, isPaused: !choice.isPaused };
    else this.scroll(key);
    this.draw();
  }

  private scroll(key: string): void {
    const { state, choice } = this;
    const page = Math.max(1, this.screen.height - PAGE_REST);
    const steps = new Map([
      ["up", -1],
      ["down", 1],
      ["k", -1],
      ["j", 1],
      ["pageup", -page],
      ["pagedown", page],
      ["home", Number.NEGATIVE_INFINITY],
      ["end", Number.POSITIVE_INFINITY],
    ]);
    const step = steps.get(key);
    if (step === undefined || state === null) return;
    const last = Math.max(0, rowCount(state, this.rates, choice.view) - page);
    this.choice = { ...choice, from: Math.min(last, Math.max(0, choice.from + step)) };
  }
}

const STDOUT = 1;
/** The first tells the gateway that it is watched, so that the third has a whole second of what it saw. */
const EVENTS_OF_A_TABLE = 3;
const RETRY_MS = 1000;
/** Lines of the screen that are not of the list. */
const PAGE_REST = 8;
