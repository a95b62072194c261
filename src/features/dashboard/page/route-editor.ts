import { messageOf } from "../../../core/error-text.ts";
import { counted } from "../../../core/number-text.ts";
import { isRouteName, ROUTE_NAME_PARTS } from "../../../core/route-name.ts";
import { confirmed, toast } from "./actions.ts";
import { byId, h, say, set } from "./dom.ts";
import { plain } from "./format.ts";
import { FORM_TYPES, type FormRoute, NEW_ROUTE, routeText } from "./route-text.ts";
import {
  type ApiRouteRow,
  apiRoutes,
  changeRoute,
  type RouteResult,
  readRoute,
  type StoredRoute,
} from "./routes-api.ts";
import { LiveTable, type PageColumn, textCell } from "./table.ts";

/**
 * The routes of the API, to be put, changed and removed: there for visitors who may. Each change is one of the internal API, under the entity tag
 * of the route that the page has read, so that no change of another operator is lost. docs/dashboard.md#routes-of-the-api
 */
export class RouteEditor {
  private readonly table: LiveTable<ApiRouteRow>;
  private generation = -1;
  private isReading = false;
  /** The route in the dialog; null for a new one. */
  private stored: StoredRoute | null = null;
  private isForm = true;

  constructor() {
    this.table = new LiveTable<ApiRouteRow>({
      name: "Routes of the API",
      columns: this.columns(),
      keyOf: ({ name }) => name,
      empty: "You have not added a route yet.",
    });
    byId("api-routes").append(this.table.element);
    byId("route-add").addEventListener("click", () => this.open(null));
    byId("route-form-mode").addEventListener("click", () => this.showForm());
    byId("route-text-mode").addEventListener("click", () => this.showText());
    byId("route-check").addEventListener("click", () => void this.send(true));
    byId("route-save").addEventListener("click", () => void this.send(false));
    byId("route-cancel").addEventListener("click", () => byId<HTMLDialogElement>("route").close());
    byId("route-again").addEventListener("click", () => void this.readAgain());
    const types = byId<HTMLSelectElement>("route-type");
    types.append(...Object.entries(FORM_TYPES).map(([value, { title }]) => h("option", { value }, title)));
    types.addEventListener("change", () => this.showFields());
  }

  /** Reads the list again if the configuration is another one. */
  take(generation: number): void {
    if (generation === this.generation || this.isReading) return;
    this.isReading = true;
    apiRoutes()
      .then(({ isEditable, routes }) => {
        this.generation = generation;
        byId("editor").hidden = !isEditable;
        document.querySelector<HTMLElement>("nav a[href='#editor']")!.hidden = !isEditable;
        this.table.show(routes, true);
        say(
          byId("editor-says"),
          `${counted(routes.length, "route")}. They outlive restarts, and each change is in the log.`,
        );
      })
      .catch(() => {})
      .finally(() => {
        this.isReading = false;
      });
  }

  private columns(): readonly PageColumn<ApiRouteRow>[] {
    return [
      textCell("name", "Name", ({ name }) => name, { isName: true, style: "mono name" }),
      textCell("type", "Type", ({ type }) => plain(type), { style: "minor" }),
      textCell(
        "place",
        "Host and path",
        ({ host, route }) => `${plain(host.join(", ") || "any host")} ${plain(route)}`,
        {
          style: "mono",
        },
      ),
      {
        key: "state",
        head: "State",
        show: (cell, { state, why }) => {
          say(cell, state);
          set(cell, "class", state === "serves" ? "" : "bad");
          set(cell, "title", why);
        },
      },
      {
        key: "acts",
        head: "",
        style: "acts",
        show: (cell, row) => {
          const shown = `${row.name} ${row.type}`;
          if (cell.dataset.of === shown) return;
          cell.dataset.of = shown;
          cell.replaceChildren(...this.buttons(row));
        },
      },
    ];
  }

  private buttons({ name, type }: ApiRouteRow): HTMLElement[] {
    const small = (text: string, label: string, click: () => void) =>
      h("button", { type: "button", class: "small", "aria-label": `${label} ${name}`, click }, text);
    return [
      small("Edit", "Edit", () => this.openStored(name)),
      ...(FORM_TYPES[type]?.keys.includes("targets")
        ? [small("Weights", "Weights of", () => this.openWeights(name))]
        : []),
      small("Delete", "Delete", () => this.askDelete(name)),
    ];
  }

  private openStored(name: string): void {
    readRoute(name).then(
      (stored) => this.open(stored),
      (error: unknown) => toast(messageOf(error)),
    );
  }

  private open(stored: StoredRoute | null): void {
    this.stored = stored;
    const name = byId<HTMLInputElement>("route-name");
    name.value = stored?.name ?? "";
    name.readOnly = stored !== null;
    say(byId("h-route"), stored === null ? "Add a route" : `Edit ${stored.name}`);
    byId<HTMLTextAreaElement>("route-yaml").value = stored?.text ?? routeText(NEW_ROUTE);
    this.fill(stored === null ? NEW_ROUTE : stored.form);
    this.tell("", []);
    byId("route-again").hidden = true;
    const dialog = byId<HTMLDialogElement>("route");
    if (!dialog.open) dialog.showModal();
    (stored === null ? name : byId(this.isForm ? "route-host" : "route-yaml")).focus();
  }

  /** Shows a route in the form; as text if the form does not know all of its keys. */
  private fill(form: FormRoute | null): void {
    this.isForm = form !== null;
    byId<HTMLButtonElement>("route-form-mode").disabled = form === null;
    if (form !== null)
      for (const [key, value] of Object.entries(form)) byId<HTMLInputElement>(`route-${key}`).value = value as string;
    this.showMode();
  }

  private showForm(): void {
    if (this.isForm) return;
    this.isForm = true;
    this.showMode();
  }

  /** The text begins with the values of the form. */
  private showText(): void {
    if (!this.isForm) return;
    byId<HTMLTextAreaElement>("route-yaml").value = this.text();
    this.isForm = false;
    // Text may have keys that the form does not know.
    byId<HTMLButtonElement>("route-form-mode").disabled = true;
    this.showMode();
  }

  private showMode(): void {
    byId("route-form").hidden = !this.isForm;
    byId("route-yaml-place").hidden = this.isForm;
    set(byId("route-form-mode"), "aria-pressed", String(this.isForm));
    set(byId("route-text-mode"), "aria-pressed", String(!this.isForm));
    this.showFields();
  }

  private showFields(): void {
    const { value: type } = byId<HTMLSelectElement>("route-type");
    const keys: readonly string[] = FORM_TYPES[type]?.keys ?? [];
    for (const label of document.querySelectorAll<HTMLElement>("#route-form [data-key]"))
      label.hidden = !keys.includes(label.dataset.key!);
  }

  private text(): string {
    if (!this.isForm) return byId<HTMLTextAreaElement>("route-yaml").value;
    const values = Object.keys(NEW_ROUTE).map((key) => [key, byId<HTMLInputElement>(`route-${key}`).value]);
    return routeText(Object.fromEntries(values) as FormRoute);
  }

  private async send(isDry: boolean): Promise<void> {
    const name = byId<HTMLInputElement>("route-name").value.trim();
    if (!isRouteName(name)) {
      this.tell(`Give the route a name of ${ROUTE_NAME_PARTS}.`, []);
      return byId("route-name").focus();
    }
    this.busy(true);
    try {
      const text = this.text();
      const result = await changeRoute({ method: "PUT", name, etag: this.stored?.etag ?? null, text, isDry });
      this.show(result, name, isDry);
    } catch (error) {
      this.tell(messageOf(error), []);
    } finally {
      this.busy(false);
    }
  }

  private show(result: RouteResult, name: string, isDry: boolean): void {
    const { status, faults, changes, shadowedBy } = result;
    byId("route-again").hidden = status !== 412 || this.stored === null;
    if (status === 412)
      return this.tell(
        this.stored === null
          ? `A route ${name} is there already: give yours another name, or edit that one.`
          : "This route was changed by another operator since you opened it. Read it again: your text is replaced by theirs.",
        [],
      );
    if (faults.length > 0) return this.tell(`${counted(faults.length, "fault")}: nothing is changed.`, faults);
    const shadowed =
      shadowedBy === "" ? "" : ` It does not serve: ${plain(shadowedBy)} has the same host, path and match.`;
    if (isDry) return this.tell(`In order.${shadowed} ${changesText(changes)}`, [], true);
    byId<HTMLDialogElement>("route").close();
    toast(`${name} is in use.${shadowed}`);
    this.generation = -1;
  }

  private async readAgain(): Promise<void> {
    const { stored } = this;
    if (stored === null) return;
    try {
      this.open(await readRoute(stored.name));
    } catch (error) {
      this.tell(messageOf(error), []);
    }
  }

  private tell(text: string, faults: readonly string[], isGood = false): void {
    const place = byId("route-says");
    place.hidden = text === "";
    set(place, "class", isGood ? "note" : "note bad");
    say(byId("route-said"), text);
    byId("route-faults").replaceChildren(...faults.map((fault) => this.faultItem(fault)));
    if (text !== "" && place.scrollIntoView !== undefined) place.scrollIntoView({ block: "nearest" });
  }

  /** A fault, which leads to its line of the text. */
  private faultItem(fault: string): HTMLElement {
    const [, line = "", column = ""] = /:(\d+):(\d+):/.exec(fault) ?? [];
    if (line === "" || this.isForm) return h("li", {}, plain(fault));
    const go = () => {
      const area = byId<HTMLTextAreaElement>("route-yaml");
      const lines = area.value.split("\n");
      const at = lines.slice(0, Number(line) - 1).reduce((sum, one) => sum + one.length + 1, 0) + Number(column) - 1;
      area.focus();
      area.setSelectionRange(at, at + (lines[Number(line) - 1] ?? "").length - Number(column) + 1);
    };
    return h("li", {}, h("button", { type: "button", class: "link", click: go }, plain(fault)));
  }

  private busy(isBusy: boolean): void {
    for (const id of ["route-check", "route-save"]) byId<HTMLButtonElement>(id).disabled = isBusy;
  }

  private askDelete(name: string): void {
    readRoute(name).then(
      ({ etag }) =>
        confirmed({
          title: `Delete ${name}?`,
          text: "Requests go to the next route that takes them, or get 404. The route is gone from the state folder, too.",
          yes: "Delete",
          run: async () => settled(await changeRoute({ method: "DELETE", name, etag, text: "", isDry: false })),
          done: () => {
            this.generation = -1;
            return `${name} is deleted.`;
          },
        }),
      (error: unknown) => toast(messageOf(error)),
    );
  }

  private openWeights(name: string): void {
    readRoute(name).then(
      ({ etag, targets }) => {
        const inputs = targets.map(({ url, weight }) => {
          const input = h("input", { type: "number", min: 0, step: 1, value: String(weight), "aria-label": url });
          return { url, input };
        });
        const rows = inputs.map(({ url, input }) =>
          h("label", { class: "weight" }, h("span", { class: "mono" }, plain(url)), input),
        );
        const question = {
          title: `Weights of ${name}`,
          text: "A target with weight 0 gets no new requests; those under way end.",
          yes: "Set the weights",
          run: async () => {
            const weights = Object.fromEntries(inputs.map(({ url, input }) => [url, Number(input.value)]));
            const text = JSON.stringify(weights);
            return settled(await changeRoute({ method: "PATCH", name, etag, text, isDry: false }));
          },
          done: () => {
            this.generation = -1;
            return `${name} has these weights.`;
          },
        };
        confirmed(question, rows);
      },
      (error: unknown) => toast(messageOf(error)),
    );
  }
}

/** @throws Error that says why a change was not made */
function settled({ status, faults, message }: RouteResult): Record<string, unknown> {
  if (status === 412)
    throw new Error("The route was changed by another operator meanwhile. Close this, and look at it again.");
  if (faults.length > 0) throw new Error(faults.join("\n"));
  if (status !== 200) throw new Error(message);
  return {};
}

function changesText(changes: readonly string[]): string {
  return changes.length === 0 ? "It would change nothing." : `It would change: ${plain(changes.join("; "))}.`;
}
