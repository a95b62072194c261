import { counted } from "../../../core/number-text.ts";
import type { LiveState, LiveTarget } from "../live-state.ts";
import { byId, h, say } from "./dom.ts";
import { act } from "./feed.ts";
import { plain } from "./format.ts";

/** What is asked before something is done. */
interface Question {
  readonly title: string;
  readonly text: string;
  /** On the button that does it. */
  readonly yes: string;
  /** Does it. @throws Error that says why it was not done */
  readonly run: () => Promise<Record<string, unknown>>;
  /** What was done, from the response. */
  readonly done: (response: Record<string, unknown>) => string;
}

/** Asks, does it where the person agrees, and says what came of it. @param more further parts of the question */
export function confirmed(question: Question, more: readonly HTMLElement[] = []): void {
  const dialog = byId<HTMLDialogElement>("confirm");
  const [yes, no, fault] = [byId<HTMLButtonElement>("confirm-yes"), byId("confirm-no"), byId("confirm-fault")];
  say(byId("confirm-title"), question.title);
  say(byId("confirm-text"), question.text);
  say(yes, question.yes);
  byId("confirm-more").replaceChildren(...more);
  fault.hidden = true;
  yes.disabled = false;
  no.onclick = () => dialog.close();
  yes.onclick = async () => {
    yes.disabled = true;
    try {
      const response = await question.run();
      dialog.close();
      toast(question.done(response));
    } catch (error) {
      fault.hidden = false;
      say(fault, error instanceof Error ? error.message : String(error));
      yes.disabled = false;
      no.focus();
    }
  };
  dialog.showModal();
  no.focus();
}

/** Says something for a few seconds. */
export function toast(text: string): void {
  const place = byId("toast");
  say(place, text);
  place.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    place.classList.remove("shown");
    say(place, "");
  }, TOAST_MS);
}

let toastTimer = 0;
const TOAST_MS = 6000;

/** The actions of the gateway as a whole, in their dialog. */
export class Actions {
  private readonly state: () => LiveState | null;

  constructor(state: () => LiveState | null) {
    this.state = state;
    const dialog = byId<HTMLDialogElement>("actions");
    byId("open-actions").addEventListener("click", () => {
      byId("action-list").replaceChildren(
        this.reload(),
        this.rollback(),
        this.purge(),
        this.maintenance(),
        this.logLevel(),
      );
      dialog.showModal();
    });
  }

  private reload(): HTMLElement {
    return action("Reload", "Reads the configuration and the routes again. If they have faults, nothing changes.", [
      button("Reload …", () =>
        confirmed({
          title: "Reload the configuration?",
          text: "The files are read again, and every worker takes them up without dropping a connection.",
          yes: "Reload",
          run: () => act("reload", {}),
          done: ({ generation }) => `Reloaded: generation ${generation} is in use.`,
        }),
      ),
    ]);
  }

  private rollback(): HTMLElement {
    const back = this.state()?.gateway.rolledBack ?? null;
    const is = back === null ? "" : ` It serves the configuration of ${back.to} now, not the files.`;
    return action("Roll back", `Serves the configuration from before this one. The files stay as they are.${is}`, [
      button("Roll back …", () =>
        confirmed({
          title: "Roll back the configuration?",
          text: "Every worker takes up the configuration from before this one. The next reload takes up the files again.",
          yes: "Roll back",
          run: () => act("rollback", {}),
          done: ({ rolled_back_to }) => `The configuration of ${rolled_back_to} is in use.`,
        }),
      ),
    ]);
  }

  private purge(): HTMLElement {
    const kind = h(
      "select",
      { "aria-label": "What is purged" },
      ...Object.entries(PURGES).map(([value, name]) => h("option", { value }, name)),
    );
    const what = h("input", { type: "text", "aria-label": "URL, prefix or tag", hidden: true });
    kind.addEventListener("change", () => {
      what.hidden = kind.value === "all";
      what.placeholder = kind.value === "tag" ? "product-17" : "/shop/";
    });
    const ask = () => {
      if (kind.value !== "all" && what.value.trim() === "") return what.focus();
      const call = kind.value === "all" ? { all: true } : { [kind.value]: what.value.trim() };
      const name = kind.value === "all" ? "everything that is stored" : `${PURGES[kind.value]} ${what.value.trim()}`;
      confirmed({
        title: "Purge the cache?",
        text: `This takes ${name} out of the response cache. The next requests go to the origins.`,
        yes: "Purge",
        run: () => act("cache/purge", call),
        done: ({ purged }) => `Purged: ${counted(Number(purged), "response")}.`,
      });
    };
    return action("Purge the cache", "Takes stored responses out.", [kind, what, button("Purge …", ask)]);
  }

  private maintenance(): HTMLElement {
    const routes = this.state()?.gateway.maintenance ?? [];
    const is = routes.length === 0 ? "It is off." : `On for ${plain(routes.slice(0, 5).join(", "))}.`;
    const ask = (on: boolean) =>
      confirmed({
        title: on ? "Begin maintenance?" : "End maintenance?",
        text: on
          ? "Every route responds with 503 and Retry-After, but to the addresses that maintenance allows."
          : "All routes serve again, except routes under maintenance in your files.",
        yes: on ? "Begin maintenance" : "End maintenance",
        run: () => act("maintenance", { on }),
        done: () => (on ? "Maintenance has begun." : "Maintenance has ended."),
      });
    const buttons = [button("Begin …", () => ask(true)), button("End …", () => ask(false))];
    return action("Maintenance", `503 on all routes. ${is}`, buttons);
  }

  private logLevel(): HTMLElement {
    const level = h(
      "select",
      { "aria-label": "Level of the log" },
      ...LEVELS.map((value) => h("option", { value }, value)),
    );
    level.value = this.state()?.gateway.logLevel ?? "info";
    const ask = () =>
      confirmed({
        title: "Change the level of the log?",
        text: `From now on the log has lines of the level ${level.value} and above.`,
        yes: "Change",
        run: () => act("log-level", { level: level.value }),
        done: () => `The level of the log is ${level.value}.`,
      });
    return action("Log level", "How much is logged, until it is put back.", [level, button("Change …", ask)]);
  }
}

/** Asks whether to drain a target, or to let it have requests again. */
export function askDrain({ upstream, drained }: LiveTarget): void {
  confirmed({
    title: drained ? "Use this target again?" : "Drain this target?",
    text: drained
      ? `${plain(upstream)} gets new requests again.`
      : `${plain(upstream)} gets no new requests; those under way end in peace.`,
    yes: drained ? "Use again" : "Drain",
    run: () => act(drained ? "upstreams/undrain" : "upstreams/drain", { target: upstream }),
    done: () => `${plain(upstream)} ${drained ? "is in use again" : "is drained"}.`,
  });
}

function action(name: string, what: string, controls: readonly HTMLElement[]): HTMLElement {
  return h("fieldset", {}, h("legend", {}, name), h("p", {}, what), h("div", { class: "controls" }, ...controls));
}

function button(name: string, click: () => void): HTMLButtonElement {
  return h("button", { type: "button", click }, name);
}

const PURGES: Readonly<Record<string, string>> = {
  all: "everything",
  url: "the URL",
  prefix: "the prefix",
  tag: "the tag",
};
const LEVELS: readonly string[] = ["debug", "info", "warn", "error"];
