import { bytes, counted, durationText, numberText, percentText, span } from "../../../core/number-text.ts";
import type { LiveState } from "../live-state.ts";
import { Actions, toast } from "./actions.ts";
import { read, write } from "./address.ts";
import { type Grade, isUnderAttack, refusalRate, slowest, trafficWords, wellCard } from "./answers.ts";
import { hitRatio } from "./cache-view.ts";
import { type ChartMark, type ChartPoint, Sparkline, TimeChart } from "./chart.ts";
import { byId, h, say, set } from "./dom.ts";
import { type Connection, configuration, Feed, keepToken } from "./feed.ts";
import { ago, plain, sentence } from "./format.ts";
import { LogTail, showRequests } from "./log-tail.ts";
import { Model, type Moment, requestsOf, total } from "./model.ts";
import { RouteEditor } from "./route-editor.ts";
import { changeTitle, spacedWords, Views } from "./views.ts";

const MINUTE = 60_000;
const SPARK_MS = 2 * MINUTE;

/** One of the four questions that the page answers at a glance. */
class Answer {
  readonly element: HTMLAnchorElement;
  private readonly headline = h("strong");
  private readonly more = h("ul");

  private readonly kind: string;

  /** @param kind "well" for the verdict, else "" */
  constructor(question: string, href: string, kind: string) {
    this.kind = kind;
    this.element = h(
      "a",
      { class: "answer none", href },
      h("span", { class: "question" }, question),
      this.headline,
      this.more,
    );
  }

  show(grade: Grade, headline: string, more: readonly string[]): void {
    set(this.element, "class", `answer ${grade} ${this.kind}`.trimEnd());
    const worded = this.kind === "well" ? sentence : (text: string) => text;
    say(this.headline, worded(headline));
    if (this.more.childElementCount !== more.length) this.more.replaceChildren(...more.map(() => h("li")));
    more.forEach((line, i) => void say(this.more.children[i]!, worded(line)));
  }
}

/** A number that matters, with its last two minutes. */
class Tile {
  readonly element: HTMLElement;
  private readonly value = h("dd");
  private readonly spark = new Sparkline();

  /** @param leadsTo the status of the requests that it leads to; "" for none */
  constructor(name: string, leadsTo = "") {
    const title =
      leadsTo === ""
        ? name
        : h(
            "a",
            { href: "#log", title: `${name}: the last of them`, click: () => showRequests({ status: leadsTo }) },
            name,
          );
    this.element = h("div", { class: "tile" }, h("dt", {}, title), this.value, this.spark.element);
  }

  show(value: string, values: readonly number[], grade: Grade = "none"): void {
    say(this.value, value);
    set(this.element, "class", `tile ${grade}`);
    this.spark.show(values);
  }
}

/** The page: it takes the events of the stream and draws at most once for each. */
class Page {
  private readonly model = new Model();
  private readonly views = new Views(this.model);
  private readonly tail = new LogTail();
  private readonly editor = new RouteEditor();
  private readonly answers = ["Is it well?", "What is slow?", "Who is attacking?", "What has changed?"].map(
    (question, i) => new Answer(question, ["#overview", "#slow", "#attack", "#changes"][i]!, i === 0 ? "well" : ""),
  );
  private readonly tiles = ["Requests/s", "5xx", "p99", "Out/s", "Connections", "Cache hits", "Refused/s"].map(
    (name) => new Tile(name, TILE_STATUSES[name]),
  );
  private readonly traffic = new TimeChart({
    title: "Requests a second",
    series: CLASSES,
    stacked: true,
    format: numberText,
  });
  private readonly latency = new TimeChart({
    title: "Latency",
    series: QUANTILES,
    stacked: false,
    least: 0.1,
    format: durationText,
  });
  private readonly feed = new Feed({ onState: (state) => this.take(state), onConnection: (to) => this.connected(to) });
  private windowMinutes = Number(read("window"));
  private isDue = false;
  private said = "";

  start(): void {
    byId("answers").append(...this.answers.map(({ element }) => element));
    byId("tiles").append(...this.tiles.map(({ element }) => element));
    byId("charts").append(this.traffic.element, this.latency.element);
    new Actions(() => this.model.state);
    this.chooseWindow();
    this.chooseTheme();
    this.askToken();
    this.showConfiguration();
    this.feed.start();
  }

  private take(state: LiveState): void {
    this.model.take(state);
    this.tail.take(state);
    this.editor.take(state.gateway.generation);
    this.draw();
  }

  /** A page that is not seen draws nothing: the browser gives it no frames. */
  private draw(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      const { state } = this.model;
      if (state === null) return;
      this.showFacts(state);
      this.showAnswers(state);
      this.showTiles(state);
      this.showCharts(state);
      this.views.show(state);
      this.tail.show();
      document.body.classList.add("drawn");
    });
  }

  private showFacts({ gateway, at }: LiveState): void {
    say(
      byId("facts"),
      `${plain(gateway.host)} · ${gateway.version} · up ${span(at - gateway.startedAt)} · generation ${gateway.generation}`,
    );
    document.title = `edge · ${plain(gateway.host)}`;
    say(byId("foot"), `edge ${gateway.version}, process ${gateway.pid}. Numbers are those of /metrics, once a second.`);
  }

  private showAnswers(state: LiveState): void {
    const { model } = this;
    const { grade, headline, lines, href } = wellCard(state.verdict);
    this.answers[0]!.show(grade, headline, [...lines, trafficWords(model)]);
    this.answers[0]!.element.href = href;
    this.speak([headline, ...lines.slice(0, 1)].join(": "));
    const route = slowest(model.busy(({ routes }) => routes));
    const upstream = slowest(model.busy(({ upstreams }) => upstreams));
    const name = route === null ? "No requests" : `${plain(route.label)}`;
    const slow =
      route === null ? [] : [`p99 ${durationText(route.latency![2])}, p50 ${durationText(route.latency![0])}`];
    if (upstream !== null) slow.push(`Upstream, p99 ${durationText(upstream.latency![2])}: ${plain(upstream.label)}`);
    this.answers[1]!.show("none", name, slow);
    this.showAttack(state);
    const [last, before] = state.changes;
    const changed = last === undefined ? "Nothing since the start" : `${changeTitle(last)}, ${ago(state.at - last.at)}`;
    const earlier = before === undefined ? [] : [`Before: ${changeTitle(before)}, ${ago(state.at - before.at)}`];
    const detail = last === undefined ? [] : [plain(last.text).replace(/^action: \w+, /, "")];
    this.answers[3]!.show(last?.bad && state.at - last.at < 5 * MINUTE ? "warn" : "none", changed, [
      ...detail,
      ...earlier,
    ]);
  }

  private showAttack(state: LiveState): void {
    const rate = refusalRate(this.model);
    const [worst] = state.attackers;
    const answer = this.answers[2]!;
    if (worst === undefined)
      return answer.show("none", "No attack", ["The gateway refused no request in the last 15 minutes"]);
    const sum = total(state.attackers.map(({ refusals }) => refusals));
    const lines = [
      `${counted(sum, "refusal")} in 15 minutes, from ${counted(state.attackers.length, "address", "addresses")}`,
      `Most: ${plain(worst.address)}, ${spacedWords(worst.reasons[0]?.[0] ?? "")}`,
    ];
    if (isUnderAttack(this.model)) answer.show("warn", `${numberText(rate)} requests/s refused`, lines);
    else answer.show("none", rate > 0 ? `${numberText(rate)} requests/s refused` : "Quiet now", lines);
  }

  /** What is read out: only that the state has become another one, not each number of it. */
  private speak(headline: string): void {
    const kind = headline.replace(/[\d.,]+/g, "");
    if (kind === this.said) return;
    this.said = kind;
    say(byId("voice"), headline);
  }

  private showTiles(state: LiveState): void {
    const moments = this.model.since(SPARK_MS);
    const [requests, errors, slow, out, open, cache, refused] = this.tiles as [
      Tile,
      Tile,
      Tile,
      Tile,
      Tile,
      Tile,
      Tile,
    ];
    const now = moments.slice(-3);
    const mean = (read: (moment: Moment) => number) => (now.length === 0 ? 0 : total(now.map(read)) / now.length);
    const { errorShare, findings } = state.verdict;
    const failing = findings.find(({ about }) => about === "slow");
    requests.show(numberText(mean(requestsOf)), moments.map(requestsOf));
    errors.show(
      percentText(errorShare ?? Number.NaN),
      moments.map((one) => one.classes[5]!),
      failing === undefined ? "none" : failing.isBad ? "bad" : "warn",
    );
    const times = moments.map((one) => one.latency?.[2] ?? 0);
    slow.show(durationText(state.latency?.[2]), times);
    out.show(
      bytes(mean((one) => one.bytesOut)),
      moments.map((one) => one.bytesOut),
    );
    this.connections.push(state.totals.connections);
    if (this.connections.length > SPARK_MS / 1000) this.connections.shift();
    open.show(numberText(state.totals.connections), this.connections);
    const ratio = hitRatio(this.model);
    cache.show(
      state.cache === null ? "off" : percentText(ratio),
      this.push(this.ratios, Number.isNaN(ratio) ? 0 : ratio),
    );
    const rate = refusalRate(this.model);
    refused.show(numberText(rate), this.push(this.refusals, rate), isUnderAttack(this.model) ? "warn" : "none");
  }

  private readonly connections: number[] = [];
  private readonly ratios: number[] = [];
  private readonly refusals: number[] = [];

  private push(values: number[], value: number): readonly number[] {
    values.push(value);
    if (values.length > SPARK_MS / 1000) values.shift();
    return values;
  }

  private showCharts(state: LiveState): void {
    const range = [state.at - this.windowMinutes * MINUTE, state.at] as const;
    const moments = this.model.since(this.windowMinutes * MINUTE);
    const marks: ChartMark[] = state.changes.map(({ at, event, text, bad }) => ({
      at,
      text: plain(`${event} ${text}`),
      bad,
    }));
    const points: ChartPoint[] = moments.map(({ at, classes: [other, one, two, three, four, five] }) => ({
      at,
      values: [two!, three!, four!, five!, other! + one!],
    }));
    this.traffic.show(points, range, marks);
    this.latency.show(
      moments.map(({ at, latency }) => ({ at, values: latency })),
      range,
      marks,
    );
  }

  private connected(to: Connection): void {
    const pill = byId("connection");
    const draining = this.model.state?.gateway.status === "draining";
    const kind = to.kind === "live" && draining ? "waiting" : to.kind;
    set(pill, "class", `pill ${kind}`);
    const texts = {
      connecting: "Connecting",
      live: draining ? "Ending" : "Live",
      locked: "Token needed",
      waiting: "Reconnecting",
    };
    say(pill.lastElementChild!, texts[to.kind]);
    pill.title = to.kind === "waiting" ? to.why : "";
    document.body.classList.toggle("stale", to.kind !== "live");
    if (to.kind === "waiting") {
      this.answers[0]!.show("none", "No connection", [to.why, "The numbers below are from before."]);
      this.speak("No connection to the gateway");
    }
    if (to.kind === "locked") byId<HTMLDialogElement>("login").showModal();
  }

  private chooseWindow(): void {
    const buttons = WINDOWS.map((minutes) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(minutes === this.windowMinutes), click: () => choose(minutes) },
        `${minutes} min`,
      ),
    );
    const choose = (minutes: number): void => {
      this.windowMinutes = minutes;
      write("window", String(minutes));
      WINDOWS.forEach((one, i) => void set(buttons[i]!, "aria-pressed", String(one === minutes)));
      this.draw();
    };
    if (!WINDOWS.includes(this.windowMinutes)) choose(5);
    byId("window").append(...buttons);
  }

  private chooseTheme(): void {
    const button = byId("theme");
    const use = (theme: string): void => {
      document.documentElement.dataset.theme = theme;
      localStorage.setItem("edge-theme", theme);
      set(button, "aria-label", `Colours: ${THEMES[theme]!.name}. Change`);
      button.title = `Colours: ${THEMES[theme]!.name}`;
      say(button, THEMES[theme]!.sign);
    };
    const before = localStorage.getItem("edge-theme") ?? "";
    use(Object.hasOwn(THEMES, before) ? before : "system");
    button.addEventListener("click", () => {
      const names = Object.keys(THEMES);
      use(names[(names.indexOf(document.documentElement.dataset.theme!) + 1) % names.length]!);
    });
  }

  private askToken(): void {
    const dialog = byId<HTMLDialogElement>("login");
    const input = byId<HTMLInputElement>("token");
    // There is nothing to be seen without it.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    byId<HTMLFormElement>("login-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      keepToken(input.value.trim());
      const isGood = await configuration().then(
        () => true,
        () => false,
      );
      byId("login-fault").hidden = isGood;
      if (!isGood) return input.select();
      dialog.close();
      this.feed.start();
    });
  }

  private showConfiguration(): void {
    const [place, button, filter] = [
      byId("config"),
      byId<HTMLButtonElement>("config-load"),
      byId<HTMLInputElement>("config-filter"),
    ];
    let lines: readonly string[] = [];
    const show = (): void => {
      const wanted = filter.value.trim().toLowerCase();
      const found = wanted === "" ? lines : lines.filter((line) => line.toLowerCase().includes(wanted));
      say(place, found.join("\n") || "No line has this.");
    };
    const load = async (): Promise<void> => {
      try {
        lines = (await configuration()).split("\n");
        byId("config-place").hidden = false;
        say(button, "Read again");
        show();
      } catch (error) {
        toast(error instanceof Error ? error.message : String(error));
      }
    };
    button.addEventListener("click", () => void load());
    filter.addEventListener("input", () => {
      if (lines.length === 0) void load();
      else show();
    });
  }
}

const CLASSES = [
  { name: "2xx", style: "c2" },
  { name: "3xx", style: "c3" },
  { name: "4xx", style: "c4" },
  { name: "5xx", style: "c5" },
  { name: "other", style: "c0" },
];
const QUANTILES = [
  { name: "p50", style: "q1" },
  { name: "p90", style: "q2" },
  { name: "p99", style: "q3" },
];
/** Tiles that lead to requests. */
const TILE_STATUSES: Readonly<Record<string, string>> = { "5xx": "5", "Refused/s": "refused" };
const WINDOWS: readonly number[] = [1, 5, 15];
const THEMES: Readonly<Record<string, { readonly name: string; readonly sign: string }>> = {
  system: { name: "as the system", sign: "◐" },
  light: { name: "light", sign: "☀" },
  dark: { name: "dark", sign: "☾" },
};

new Page().start();
