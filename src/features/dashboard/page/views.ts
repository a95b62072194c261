import type { CanaryStanding } from "../../../core/canary-standing.ts";
import { isInternalPath } from "../../../core/internal-path.ts";
import { bytes, counted, durationText, numberText, percentText, span } from "../../../core/number-text.ts";
import type {
  LiveAttacker,
  LiveChange,
  LiveHit,
  LiveLoser,
  LiveObjective,
  LiveState,
  LiveTarget,
  LiveWorker,
} from "../live-state.ts";
import {
  endsSoon,
  gradeOfBurn,
  gradeOfErrors,
  isBusy,
  objectiveText,
  Trouble,
  targetState,
  targetTitle,
  troubleOf,
} from "../verdict.ts";
import { askDrain, toast } from "./actions.ts";
import { read, write } from "./address.ts";
import { refusalRate, slowest } from "./answers.ts";
import { BanView } from "./ban-view.ts";
import { CacheView, mix } from "./cache-view.ts";
import { byId, h, say, set } from "./dom.ts";
import { ago, clock, plain, sentence } from "./format.ts";
import { ROUTE_FILTER, showRequests, TARGET_FILTER } from "./log-tail.ts";
import { type BusyLabel, type BusyModule, type Model, total } from "./model.ts";
import { RoomView } from "./room-view.ts";
import { LiveTable, type PageColumn, textCell } from "./table.ts";

/** The sections below the charts. */
export class Views {
  private readonly model: Model;
  private readonly routes: LiveTable<BusyLabel>;
  private readonly targets: LiveTable<TargetRow>;
  private readonly modules: LiveTable<BusyModule>;
  private readonly canaries = placed<CanaryStanding>("canaries", {
    name: "Rollouts of new versions",
    columns: CANARY_COLUMNS,
    keyOf: ({ route, targets }) => `${route} ${targets.join(" ")}`,
    empty: "–",
  });
  private readonly losers = placed<LiveLoser>("losers", {
    name: "Routes that do not serve",
    columns: LOSER_COLUMNS,
    keyOf: ({ source, name, route, hosts }) => `${source} ${name} ${route} ${hosts.join()}`,
    empty: "Every route of every source serves.",
  });
  private readonly objectives = placed<LiveObjective>("objectives", {
    name: "Objectives of routes",
    columns: OBJECTIVE_COLUMNS,
    keyOf: ({ route, slo }) => `${route} ${slo}`,
    empty: "–",
  });
  private readonly attackers: LiveTable<LiveAttacker>;
  private readonly hits: LiveTable<LiveHit>;
  private readonly timeline: LiveTable<LiveChange>;
  private readonly workers: LiveTable<WorkerRow>;
  private readonly certificates: LiveTable<LiveState["certificates"][number]>;
  private readonly filter = byId<HTMLInputElement>("route-filter");
  private readonly cache = new CacheView();
  private readonly bans = new BanView();
  private readonly rooms = new RoomView();

  constructor(model: Model) {
    this.model = model;
    this.routes = placed("routes", {
      name: "Routes",
      columns: ROUTE_COLUMNS,
      keyOf: ({ label }) => label,
      empty: "No route has had a request yet.",
      sort: read("sort"),
      onSort: (key) => write("sort", key),
    });
    this.targets = placed("targets", {
      name: "Targets",
      columns: TARGET_COLUMNS,
      keyOf: (row) => row.key,
      empty: "No route has an upstream.",
    });
    this.modules = placed("modules", {
      name: "Modules of functions and hooks",
      columns: MODULE_COLUMNS,
      keyOf: ({ name }) => name,
      empty: "–",
    });
    this.attackers = placed("attackers", {
      name: "Addresses with most refusals",
      columns: ATTACKER_COLUMNS,
      keyOf: ({ address }) => address,
      empty: "No request was refused in the last 15 minutes.",
    });
    this.hits = placed("hits", {
      name: "Findings of the firewall",
      columns: HIT_COLUMNS,
      keyOf: (hit) => `${hit.at} ${hit.address} ${hit.rule} ${hit.path}`,
      empty: "The firewall has found nothing.",
    });
    this.timeline = placed("timeline", {
      name: "Changes",
      columns: CHANGE_COLUMNS,
      keyOf: (change) => `${change.at} ${change.event} ${change.text}`,
      empty: "Nothing has changed since the start.",
    });
    this.workers = placed("workers", {
      name: "Workers",
      columns: WORKER_COLUMNS,
      keyOf: ({ index }) => String(index),
      empty: "–",
    });
    this.certificates = placed("certificates", {
      name: "Certificates",
      columns: CERTIFICATE_COLUMNS,
      keyOf: ({ domain }) => domain,
      empty: "No listener speaks TLS.",
    });
    this.filter.value = read("route");
    this.filter.addEventListener("input", () => {
      write("route", this.filter.value);
      this.showRoutes();
    });
  }

  show(state: LiveState): void {
    this.showRoutes();
    this.showTargets(state);
    this.showModules(state);
    this.showCanaries(state);
    this.showSources(state);
    this.rooms.show(state);
    this.showObjectives(state);
    this.showAttacks(state);
    this.timeline.show(state.changes);
    const [change] = state.changes;
    say(byId("changes-say"), change === undefined ? "" : `Last: ${changeTitle(change)}, ${ago(state.at - change.at)}.`);
    this.workers.show(
      state.workers.map((worker, index) => ({
        ...worker,
        index,
        rate: this.model.rateOf(({ workers }) => workers[index]?.requests ?? 0),
      })),
    );
    this.certificates.show(state.certificates);
    this.cache.show(state, this.model);
    const { gateway } = state;
    say(
      byId("system-says"),
      `${bytes(gateway.rssBytes)} of memory, ${counted(state.totals.connections, "connection")} open, log level ${gateway.logLevel}.`,
    );
  }

  private showRoutes(): void {
    const all = this.model.busy(({ routes }) => routes);
    const wanted = this.filter.value.trim().toLowerCase();
    const shown = all.filter(({ label }) =>
      // What is asked of the gateway itself, this page included, is shown to those who look for it.
      wanted === "" ? !isInternalPath(label) : label.toLowerCase().includes(wanted),
    );
    mostRequests = Math.max(1e-9, ...all.map(({ rate }) => rate));
    this.routes.show(shown);
    const slow = slowest(all);
    const more = (this.model.state?.routeCount ?? 0) - all.length;
    const words =
      slow === null
        ? "No request in the last seconds."
        : `Slowest: ${plain(slow.label)}, p99 ${durationText(slow.latency![2])}.`;
    say(byId("slow-says"), more > 0 ? `${words} ${numberText(more)} quieter routes are left out.` : words);
  }

  private showTargets(state: LiveState): void {
    const busy = new Map(this.model.busy(({ upstreams }) => upstreams).map((one) => [one.label, one]));
    this.targets.show(
      state.targets.map((target) => ({
        ...target,
        key: `${target.route} ${target.upstream}`,
        traffic: busy.get(target.upstream) ?? null,
      })),
    );
    const wrong = state.verdict.findings.filter(({ about }) => about === "upstreams").map(({ text }) => plain(text));
    const well = state.targetCount === 0 ? "" : `All ${numberText(state.targetCount)} take requests.`;
    const says = wrong.length === 0 ? well : `Not all take requests: ${wrong.join("; ")}.`;
    const isShared = new Set(state.targets.map(({ upstream }) => upstream)).size < state.targets.length;
    say(byId("upstreams-say"), isShared ? `${says} Attempts and times are of an origin, from all its routes.` : says);
  }

  private showModules({ modules }: LiveState): void {
    const isUsed = modules.length > 0;
    byId("functions").hidden = !isUsed;
    document.querySelector<HTMLElement>("nav a[href='#functions']")!.hidden = !isUsed;
    if (!isUsed) return;
    this.modules.show(this.model.busyModules());
    const away = modules.filter(({ threads }) => threads === 0).length;
    const waiting = total(modules.map(({ queued }) => queued));
    const all =
      modules.length === 1
        ? "The module has its threads."
        : `All ${numberText(modules.length)} modules have their threads.`;
    const says = away === 0 ? all : `${counted(away, "module")} without a thread: requests get 500, or wait.`;
    say(byId("functions-say"), waiting === 0 ? says : `${says} ${counted(waiting, "call")} waiting.`);
  }

  private showCanaries({ canaries = [] }: LiveState): void {
    const isUsed = canaries.length > 0;
    byId("rollouts").hidden = !isUsed;
    document.querySelector<HTMLElement>("nav a[href='#rollouts']")!.hidden = !isUsed;
    if (!isUsed) return;
    this.canaries.show(canaries);
    const words = (["running", "promoted", "aborted"] as const).flatMap((word) => {
      const count = canaries.filter(({ state }) => state === word).length;
      return count === 0 ? [] : [`${numberText(count)} ${word}`];
    });
    say(byId("rollouts-say"), `${words.join(", ")}.`);
  }

  private showSources({ sources }: LiveState): void {
    const counts = Object.entries(sources?.counts ?? {});
    const isUsed = sources !== undefined && (sources.loserCount > 0 || counts.some(([source]) => source !== "file"));
    byId("sources").hidden = !isUsed;
    document.querySelector<HTMLElement>("nav a[href='#sources']")!.hidden = !isUsed;
    if (!isUsed) return;
    this.losers.show(sources.losers);
    const words = counts.map(([source, count]) => `${source} ${numberText(count)}`).join(", ");
    const more = sources.loserCount - sources.losers.length;
    const out = sources.loserCount === 0 ? "" : ` ${numberText(sources.loserCount)} without effect.`;
    say(byId("sources-say"), `${words}.${out}${more > 0 ? ` ${numberText(more)} are left out here.` : ""}`);
  }

  private showObjectives({ objectives = [] }: LiveState): void {
    const isUsed = objectives.length > 0;
    byId("pressure").hidden = !isUsed;
    document.querySelector<HTMLElement>("nav a[href='#pressure']")!.hidden = !isUsed;
    if (!isUsed) return;
    this.objectives.show(objectives);
    const missed = objectives.filter((one) => gradeOfBurn(one) !== "none").length;
    const all =
      objectives.length === 1 ? "The objective holds." : `All ${numberText(objectives.length)} objectives hold.`;
    say(byId("pressure-says"), missed === 0 ? all : `${counted(missed, "objective")} missed.`);
  }

  private showAttacks(state: LiveState): void {
    this.attackers.show(state.attackers);
    this.hits.show(state.hits);
    this.bans.show(state);
    const { waf } = state.gateway;
    const mode =
      waf === "off"
        ? "The firewall is off."
        : waf === "detection"
          ? "The firewall only looks (detection)."
          : "The firewall refuses.";
    say(byId("attack-says"), `${numberText(refusalRate(this.model))} refusals/s. ${mode}`);
  }
}

/** What a table of targets has in a row. */
interface TargetRow extends LiveTarget {
  readonly key: string;
  readonly traffic: BusyLabel | null;
}

interface WorkerRow extends LiveWorker {
  readonly index: number;
  readonly rate: number;
}

function placed<Row>(id: string, options: ConstructorParameters<typeof LiveTable<Row>>[0]): LiveTable<Row> {
  const table = new LiveTable(options);
  byId(id).append(table.element);
  return table;
}

let mostRequests = 1;

function showRate(cell: HTMLElement, { rate }: BusyLabel): void {
  if (cell.firstElementChild === null) cell.append(h("span"), h("i", { class: "meter" }));
  say(cell.firstElementChild!, numberText(rate));
  (cell.lastElementChild as HTMLElement).style.width = `${Math.round((rate / mostRequests) * 100)}%`;
}

function showMix(cell: HTMLElement, { recent }: BusyLabel): void {
  if (cell.firstElementChild === null) cell.append(h("div", { class: "mix", role: "img" }));
  const words = [2, 3, 4, 5]
    .filter((digit) => recent[digit]! > 0)
    .map((digit) => `${digit}xx ${numberText(recent[digit]!)}`);
  mix(
    cell.firstElementChild as HTMLElement,
    [2, 3, 4, 5].map((digit) => [`c${digit}`, recent[digit]!]),
    words.join(", ") || "no requests",
  );
}

function showErrors(cell: HTMLElement, { errors, rate }: BusyLabel): void {
  say(cell, rate === 0 ? "–" : percentText(errors));
  const grade = gradeOfErrors(errors);
  cell.classList.toggle("bad", grade === "bad");
  cell.classList.toggle("warn", grade === "warn");
}

/** A name that leads to its last requests. @param shown the text, if it is more than the name */
function showName(cell: HTMLElement, name: string, of: string, shown: string = name): void {
  if (cell.firstElementChild === null) cell.append(h("a", { class: "to-requests", href: "#log" }, h("bdi")));
  const link = cell.firstElementChild as HTMLAnchorElement;
  say(link.firstElementChild!, plain(shown));
  link.title = `${plain(name)}: its last requests`;
  link.onclick = () => showRequests({ text: of + name });
}

function latency(place: 0 | 1 | 2, name: string, style = "number"): PageColumn<BusyLabel> {
  const value = (row: BusyLabel) => row.latency?.[place];
  return textCell(name, name, (row) => durationText(value(row)), { by: (row) => value(row) ?? -1, style });
}

const ROUTE_COLUMNS: readonly PageColumn<BusyLabel>[] = [
  {
    key: "route",
    head: "Route",
    show: (cell, { label }) => showName(cell, label, ROUTE_FILTER),
    isName: true,
    style: "mono name",
    by: ({ label }) => label,
  },
  { key: "rate", head: "Requests/s", show: showRate, by: ({ rate }) => rate, style: "number metered" },
  { key: "mix", head: "Statuses", show: showMix, style: "mixed minor" },
  { key: "errors", head: "5xx", show: showErrors, by: ({ errors }) => errors, style: "number" },
  latency(0, "p50", "number minor"),
  latency(1, "p90", "number minor"),
  latency(2, "p99"),
  textCell("out", "Out/s", ({ bytesPerSecond }) => bytes(bytesPerSecond[1]), {
    by: ({ bytesPerSecond }) => bytesPerSecond[1],
    style: "number minor",
  }),
  textCell("all", "Since start", ({ requests }) => numberText(requests), {
    by: ({ requests }) => requests,
    style: "number minor",
  }),
];

function showHealth(cell: HTMLElement, target: LiveTarget): void {
  const [style, words] = healthOf(target);
  if (cell.firstElementChild === null) cell.append(h("span"));
  const badge = cell.firstElementChild!;
  set(badge, "class", `badge ${style}`);
  say(badge, words);
}

function healthOf(target: LiveTarget): readonly [style: string, words: string] {
  const { failures } = target;
  const trouble = troubleOf(target);
  const words = targetState(target);
  if (trouble === Trouble.Out && !target.drained) return ["bad", words];
  if (words !== "in use") return ["warn", words];
  return failures > 0 ? ["warn", `${words}, ${counted(failures, "failure")} in a row`] : ["good", words];
}

function showDrain(cell: HTMLElement, target: LiveTarget): void {
  if (cell.firstElementChild === null) cell.append(h("button", { type: "button", class: "small" }));
  const button = cell.firstElementChild as HTMLButtonElement;
  const words = target.drained ? "Use again …" : "Drain …";
  say(button, words);
  set(button, "aria-label", `${words.replace(" …", "")} ${plain(target.upstream)}`);
  button.onclick = () => askDrain(target);
}

const TARGET_COLUMNS: readonly PageColumn<TargetRow>[] = [
  {
    key: "upstream",
    head: "Target",
    show: (cell, target) => showName(cell, target.upstream, TARGET_FILTER, targetTitle(target)),
    isName: true,
    style: "mono name front",
  },
  textCell("route", "Route", ({ route }) => plain(route), { style: "mono" }),
  { key: "health", head: "State", show: showHealth },
  textCell("check", "Health check", ({ checked, healthy }) => (checked ? (healthy ? "passes" : "fails") : "none"), {
    style: "minor",
  }),
  textCell("rate", "Attempts/s", ({ traffic }) => (traffic === null ? "–" : numberText(traffic.rate)), {
    style: "number",
  }),
  {
    key: "errors",
    head: "5xx",
    style: "number",
    show: (cell, { traffic }) => (traffic === null ? say(cell, "–") : showErrors(cell, traffic)),
  },
  textCell("p50", "p50", ({ traffic }) => durationText(traffic?.latency?.[0]), { style: "number minor" }),
  textCell("p99", "p99", ({ traffic }) => durationText(traffic?.latency?.[2]), { style: "number" }),
  { key: "drain", head: "Action", show: showDrain },
];

const LOSER_COLUMNS: readonly PageColumn<LiveLoser>[] = [
  textCell("source", "Source", ({ source }) => source, { by: ({ source }) => source }),
  textCell("name", "Name", ({ name }) => plain(name), { isName: true, style: "mono name", by: ({ name }) => name }),
  textCell("route", "Route", ({ route, hosts }) => plain(route === "" ? "all" : `${hosts.join(", ")}${route}`), {
    style: "mono",
    by: ({ route }) => route,
  }),
  textCell(
    "why",
    "Why",
    ({ by, fault, isKept }) =>
      plain(
        by === "" ? `${isKept ? "its last good routes serve: " : "faulty: "}${fault}` : `${by} serves in its place`,
      ),
    { style: "mono", by: ({ fault }) => fault },
  ),
];

const CANARY_COLUMNS: readonly PageColumn<CanaryStanding>[] = [
  textCell("route", "Route", ({ route }) => plain(route), {
    isName: true,
    style: "mono name",
    by: ({ route }) => route,
  }),
  {
    key: "share",
    head: "Share of the new version",
    by: ({ share }) => share,
    show: (cell, { share, state, reason }) => {
      if (cell.firstElementChild === null) cell.replaceChildren(h("div", { class: "mix", role: "img" }), h("span"));
      const why = reason === "" ? "" : `, ${reason.replace("_", " ")}`;
      const words = `${share} %, ${state}${why}`;
      mix(
        cell.firstElementChild as HTMLElement,
        [
          ["c2", share],
          ["c0", 100 - share],
        ],
        words,
      );
      say(cell.lastElementChild!, words);
      cell.classList.toggle("bad", state === "aborted");
    },
  },
  textCell(
    "requests",
    "Requests",
    ({ requests, old_requests }) => `${numberText(requests)} / ${numberText(old_requests)}`,
    {
      style: "number minor",
    },
  ),
  textCell(
    "errors",
    "Errors, new / old",
    (one) => `${partText(one.errors, one.requests)} / ${partText(one.old_errors, one.old_requests)}`,
    {
      style: "number",
    },
  ),
  textCell(
    "p99",
    "p99, new / old",
    (one) => `${durationText(one.p99_ms ?? undefined)} / ${durationText(one.old_p99_ms ?? undefined)}`,
    {
      style: "number",
    },
  ),
];

function partText(part: number, all: number): string {
  return all === 0 ? "–" : percentText(part / all);
}

const OBJECTIVE_COLUMNS: readonly PageColumn<LiveObjective>[] = [
  textCell("route", "Route", ({ route }) => plain(route), {
    isName: true,
    style: "mono name",
    by: ({ route }) => route,
  }),
  textCell("objective", "Objective", objectiveText, { by: ({ slo }) => slo }),
  ...(["5 min", "1 h", "6 h"] as const).map(
    (window, i): PageColumn<LiveObjective> => ({
      key: `burn${i}`,
      head: `Burn ${window}`,
      style: "number",
      by: ({ burn }) => burn[i]!,
      show: (cell, one) => {
        say(cell, numberText(one.burn[i]!));
        const grade = gradeOfBurn(one);
        cell.classList.toggle("bad", grade === "bad");
        cell.classList.toggle("warn", grade === "warn");
      },
    }),
  ),
];

const MODULE_COLUMNS: readonly PageColumn<BusyModule>[] = [
  textCell("module", "Module", ({ name }) => plain(name), { isName: true, style: "mono name", by: ({ name }) => name }),
  textCell("rate", "Calls/s", ({ rate }) => numberText(rate), { by: ({ rate }) => rate, style: "number" }),
  {
    key: "errors",
    head: "Failed",
    style: "number",
    by: ({ errors }) => errors,
    show: (cell, { errors, rate }) => {
      say(cell, rate === 0 ? "–" : percentText(errors));
      const isBad = gradeOfErrors(errors) === "bad";
      cell.classList.toggle("bad", isBad);
      cell.classList.toggle("warn", errors > 0 && !isBad);
    },
  },
  textCell("p50", "p50", ({ latency }) => durationText(latency?.[0]), {
    by: ({ latency }) => latency?.[0] ?? -1,
    style: "number minor",
  }),
  textCell("p99", "p99", ({ latency }) => durationText(latency?.[2]), {
    by: ({ latency }) => latency?.[2] ?? -1,
    style: "number",
  }),
  textCell("queued", "Waiting", ({ queued }) => numberText(queued), {
    by: ({ queued }) => queued,
    style: "number minor",
  }),
  {
    key: "threads",
    head: "Threads",
    style: "number minor",
    show: (cell, { threads }) => {
      say(cell, numberText(threads));
      cell.classList.toggle("bad", threads === 0);
    },
  },
  {
    key: "ends",
    head: "Restarts",
    style: "number",
    by: ({ ends }) => ends,
    show: (cell, { ends }) => {
      say(cell, numberText(ends));
      cell.classList.toggle("warn", ends > 0);
    },
  },
  textCell("heap", "Heap", ({ heap }) => (heap === 0 ? "–" : bytes(heap)), {
    by: ({ heap }) => heap,
    style: "number minor",
  }),
  textCell("all", "Since start", ({ calls }) => numberText(calls), { by: ({ calls }) => calls, style: "number minor" }),
];

const ATTACKER_COLUMNS: readonly PageColumn<LiveAttacker>[] = [
  textCell("address", "Address", ({ address }) => plain(address), { isName: true, style: "mono name" }),
  textCell("refusals", "Refused", ({ refusals }) => numberText(refusals), { style: "number" }),
  textCell("reasons", "Why", ({ reasons }) =>
    reasons.map(([reason, times]) => `${spacedWords(reason)} ${numberText(times)}`).join(", "),
  ),
  textCell("path", "Last path", ({ path }) => plain(path) || "–", { style: "mono wide minor" }),
  textCell("agent", "User agent", ({ userAgent, ja4 = "" }) => plain(`${userAgent} ${ja4}`.trim()) || "–", {
    style: "wide minor",
  }),
  textCell("last", "Last", ({ lastAt }) => clock(lastAt), { style: "number" }),
];

function showExclusion(cell: HTMLElement, { exclusion }: LiveHit): void {
  if (cell.firstChild !== null) return;
  if (exclusion === "") {
    cell.append("–");
    return;
  }
  const line = h("code", { title: plain(exclusion) }, plain(exclusion));
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(exclusion);
      toast("Copied: it belongs below server.waf.exclusions.");
    } catch {
      // Browsers give no clipboard to pages in clear text from another host.
      getSelection()?.selectAllChildren(line);
      toast("Selected, to be copied: it belongs below server.waf.exclusions.");
    }
  };
  cell.append(
    h(
      "button",
      { type: "button", class: "small", click: () => void copy(), "aria-label": "Copy the exclusion" },
      "Copy",
    ),
    line,
  );
}

const HIT_COLUMNS: readonly PageColumn<LiveHit>[] = [
  textCell("at", "Time", ({ at }) => clock(at), { style: "mono" }),
  textCell("rule", "Rule", ({ rule }) => plain(rule), { style: "mono", isName: true }),
  textCell("action", "Action", ({ action, score }) => `${action}, ${numberText(score)}`, { style: "minor" }),
  textCell("address", "Client", ({ address }) => plain(address), { style: "mono minor" }),
  textCell("path", "Request", ({ method, path }) => plain(`${method} ${path}`), { style: "mono wide" }),
  textCell("snippet", "Found", ({ snippet }) => plain(snippet), { style: "mono wide minor" }),
  { key: "exclusion", head: "Line that excludes it", show: showExclusion, style: "exclusion" },
];

const CHANGE_COLUMNS: readonly PageColumn<LiveChange>[] = [
  textCell("at", "Time", ({ at }) => clock(at), { style: "mono" }),
  {
    key: "event",
    head: "Event",
    isName: true,
    show: (cell, change) => {
      if (cell.firstChild === null)
        cell.append(h("span", { class: `badge ${change.bad ? "bad" : "calm"}` }, changeTitle(change)));
    },
  },
  textCell("text", "What", ({ text: what }) => plain(what), { style: "mono full" }),
];

const WORKER_COLUMNS: readonly PageColumn<WorkerRow>[] = [
  textCell("index", "#", ({ index }) => String(index), { isName: true }),
  {
    key: "load",
    head: "Load",
    style: "number metered",
    show: (cell, { load, moves }) => {
      if (cell.firstElementChild === null) cell.append(h("span"), h("i", { class: "meter" }));
      say(cell.firstElementChild!, moves ? (load < 0 ? "–" : percentText(load)) : "stalled");
      (cell.lastElementChild as HTMLElement).style.width = `${Math.min(100, Math.max(0, load * 100))}%`;
      cell.classList.toggle("bad", !moves);
      cell.classList.toggle("warn", moves && isBusy(load));
    },
  },
  textCell("rate", "Req/s", ({ rate }) => numberText(rate), { style: "number" }),
  textCell("connections", "Conns", ({ connections }) => numberText(connections), { style: "number" }),
  textCell("heap", "Heap", ({ heap }) => (heap === 0 ? "–" : bytes(heap)), { style: "number" }),
  textCell("lag", "Lag", ({ lagMs }) => durationText(lagMs), { style: "number" }),
];

const CERTIFICATE_COLUMNS: readonly PageColumn<LiveState["certificates"][number]>[] = [
  textCell("domain", "Name", ({ domain }) => plain(domain), { isName: true, style: "mono name" }),
  {
    key: "ends",
    head: "Ends in",
    style: "number",
    show: (cell, { notAfterS }) => {
      const left = notAfterS * 1000 - Date.now();
      say(cell, left <= 0 ? "expired" : span(left));
      cell.title = new Date(notAfterS * 1000).toISOString();
      cell.classList.toggle("bad", endsSoon(left));
    },
  },
];

/** An event as people say it. */
export function changeTitle({ event, text: what, bad }: LiveChange): string {
  if (event === "config_reload") return bad ? "Reload failed" : "Configuration reloaded";
  if (event === "canary_end") return bad ? "Configuration rolled back" : "Configuration taken everywhere";
  const [, action] = event === "audit" ? (/^action: (\w+)/.exec(what) ?? []) : [];
  if (action !== undefined) return `Operator: ${spacedWords(action)}`;
  return sentence(TITLES[event] ?? spacedWords(event));
}

const TITLES: Readonly<Record<string, string>> = {
  listening: "Started",
  draining: "Ending",
  breaker_open: "Breaker opened",
  breaker_closed: "Breaker closed",
  canary_begin: "Configuration on trial",
  upstream_unhealthy: "Target unhealthy",
  upstream_healthy: "Target healthy",
  certificate_reload: "Certificate file read",
  working_folder: "Working folder deleted or made again",
  cert_obtained: "Certificate obtained",
  cert_renewed: "Certificate renewed",
  cert_failed: "Certificate failed",
  exception: "Defect in edge",
  function_load_failed: "Module cannot be loaded",
  function_thread_ended: "Thread of a module ended",
};

/** `breaker_open` as people write it. */
export function spacedWords(name: string): string {
  return plain(name).replaceAll("_", " ");
}
