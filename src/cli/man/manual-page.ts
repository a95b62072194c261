import { SYSTEM_CONFIG } from "../../config/config-file.ts";
import { VERSION } from "../../core/version.ts";
import { flagRows, usageOf } from "../flags.ts";
import { commandWords, type ListedCommand, type ListedSpec } from "../listed-command.ts";
import { ENVIRONMENT, EXAMPLES, EXIT_STATUS, FILES, MANUAL_SIGNALS } from "./manual-facts.ts";
import { escaped, Roff } from "./roff.ts";

/** edge(1). docs/tools.md#manual-pages @param date YYYY-MM-DD */
export function commandPage(commands: readonly ListedCommand[], date: string): string {
  const page = new Roff("EDGE", 1, date, SOURCE, "User Commands");
  page.section("NAME");
  page.raw("edge \\- HTTP edge gateway");
  page.section("SYNOPSIS");
  page.raw(".B edge\n.I command\n[\\fIflags\\fR] [\\fIoperands\\fR]");
  page.section("DESCRIPTION");
  page.paragraph(
    `edge is a gateway for HTTP in one binary. You configure it with two files: config.yaml, in the working folder or at ${SYSTEM_CONFIG}, and routes.yaml beside it; their keys are in edge-config(5) and edge-routes(5).`,
    true,
  );
  page.section("COMMANDS");
  for (const { name, summary } of commands) page.item(name, summary);
  page.section("OPTIONS");
  page.paragraph(
    "A flag may have one dash or two, and its value after a space or an equals sign. The last of a repeated flag counts, unless its text says otherwise.",
    true,
  );
  for (const command of commands) for (const spec of command.specs) addSpec(page, command, spec);
  addFacts(page);
  return page.toString();
}

/** A page of section 5 with every key of a file, as `edge help` shows them. @param date YYYY-MM-DD */
export function referencePage(file: "config" | "routes", purpose: string, reference: string, date: string): string {
  const page = new Roff(`EDGE\\-${file.toUpperCase()}`, 5, date, SOURCE, "File Formats");
  page.section("NAME");
  page.raw(`edge\\-${file} \\- ${escaped(purpose)}`);
  page.section("DESCRIPTION");
  page.literal(reference.trimEnd().split("\n"), true);
  addSeeAlso(page, ["edge(1)", ...PAGES_OF_FILES.filter((one) => one !== `edge-${file}(5)`)]);
  return page.toString();
}

function addSpec(page: Roff, command: ListedCommand, entry: ListedSpec): void {
  const name = ["edge", ...commandWords(command, entry)].join(" ");
  page.subsection(name);
  page.paragraph(name === entry.name ? entry.summary : `The same as ${entry.name}.`, true);
  page.literal([usageOf({ ...entry, name })]);
  for (const [typed, help] of flagRows(entry)) page.item(typed, help);
  if (name === entry.name) addNotes(page, entry.notes ?? []);
}

/** Lines of a note that begin with spaces are typed as they are. */
function addNotes(page: Roff, notes: readonly string[]): void {
  let typed: string[] = [];
  const flush = () => {
    if (typed.length > 0) page.literal(typed);
    typed = [];
  };
  for (const line of notes) {
    if (line.startsWith("  ")) typed.push(line.slice(2));
    else {
      flush();
      if (line !== "") page.paragraph(line);
    }
  }
  flush();
}

function addFacts(page: Roff): void {
  const sections = { FILES, ENVIRONMENT, SIGNALS: MANUAL_SIGNALS, "EXIT STATUS": EXIT_STATUS };
  for (const [title, rows] of Object.entries(sections)) {
    page.section(title);
    for (const [term, text] of rows) page.item(term, text);
  }
  page.section("EXAMPLES");
  EXAMPLES.forEach(([purpose, line], i) => {
    page.paragraph(purpose, i === 0);
    page.literal([line]);
  });
  addSeeAlso(page, PAGES_OF_FILES);
}

function addSeeAlso(page: Roff, pages: readonly string[]): void {
  page.section("SEE ALSO");
  page.paragraph(pages.join(", "), true);
}

const SOURCE = `edge ${VERSION}`;
const PAGES_OF_FILES = ["edge-config(5)", "edge-routes(5)"];
