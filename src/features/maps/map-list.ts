import { utf8AsLatin1 } from "../../core/bytes.ts";
import { type ListContent, ListFaults, MAX_LIST_LINES } from "../../memory/list-file.ts";
import { TextTableBuilder } from "../../memory/text-table.ts";
import { csvRecords } from "../../proto/csv/csv-records.ts";

const LINES_PER_STEP = 2000;

/** Makes a table of a map's file, lines of `key,value`. docs/routing.md#maps */
export function* readMapList(text: string): Generator<undefined, ListContent, undefined> {
  const table = new TextTableBuilder();
  const faults = new ListFaults();
  const lines: number[] = [];
  let count = 0;
  for (const { line, fields, fault } of csvRecords(text)) {
    if (++count > MAX_LIST_LINES) {
      faults.add(line, `the map has more than ${MAX_LIST_LINES} lines: this one and all after it are left out`);
      break;
    }
    if (count % LINES_PER_STEP === 0) yield undefined;
    const wrong = fault === "" ? faultOf(fields) : fault;
    if (wrong !== "") {
      faults.add(line, wrong);
      continue;
    }
    const earlier = table.add(utf8AsLatin1(fields[0]!), utf8AsLatin1(fields[1]!));
    if (earlier < 0) lines.push(line);
    else faults.add(line, `repeats the key of line ${lines[earlier]}, which serves`);
  }
  return { table: yield* table.finish(), entries: table.size, faults: faults.kept, faultCount: faults.count };
}

function faultOf(fields: readonly string[]): string {
  if (fields.length !== 2) return `expected key,value, found ${fields.length} fields: put one with a comma in quotes`;
  return fields.some((field) => /\p{Cc}/u.test(field)) ? "has control characters" : "";
}
