import { Byte, EMPTY_BYTES } from "../../../core/bytes.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type WafRule } from "../rule.ts";
import { PAGE_FOLDERS } from "./restricted-files.ts";

/** Neither has keywords: `mayNameFile` calls them, for the path alone. */
export const DIAGNOSIS: WafRule = {
  id: "FILES-003",
  category: "files",
  score: CRITICAL_SCORE,
  description: "path of a diagnosis page that reveals data of a process or a server",
};
export const CONSOLE: WafRule = {
  id: "FILES-004",
  category: "files",
  score: CRITICAL_SCORE,
  description: "path of a console or of a diagnosis page, which operators use",
  level: 2,
};

/** Judges a path that is in the reading as a whole, decoded. @returns the rule that it matches, null for none */
export function adminRule({ bytes, length }: ValueReading): WafRule | null {
  const end = plainPath(bytes, length);
  let found: WafRule | null = null;
  for (let from = 1, before = 1; from < end; ) {
    let to = from;
    while (to < end && plain[to] !== Byte.Slash) to++;
    if (PAGES.valueOf(plain, from, to) !== 0) return null;
    const place = from === 1 && to === end ? AT_ROOT.valueOf(plain, from, to) : 0;
    const kind = place || NAMES.valueOf(plain, before, to) || NAMES.valueOf(plain, from, to);
    if (kind === HANDS_OUT) return DIAGNOSIS;
    if (kind === OPERATES) found = CONSOLE;
    before = from;
    from = to + 1;
  }
  return found;
}

/** The path without parameters of segments and without empty segments, in `plain[0, …)`. @returns its length */
function plainPath(bytes: Uint8Array, length: number): number {
  if (plain.length < length + 1) plain = new Uint8Array(2 * length + 1);
  let end = 0;
  let isParameter = false;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at] === Byte.Backslash ? Byte.Slash : bytes[at]!;
    if (byte === Byte.Slash) isParameter = false;
    else if (byte === Byte.Semicolon || byte === Byte.Nul) isParameter = true;
    if (isParameter || (byte === Byte.Slash && end > 0 && plain[end - 1] === Byte.Slash)) continue;
    plain[end++] = byte;
  }
  return end > 1 && plain[end - 1] === Byte.Slash ? end - 1 : end;
}

/** It gives what a process holds, secrets among it. */
const HANDS_OUT = 1;
const OPERATES = 2;
/** Names of segments, and of two that follow each other. */
const NAMES: WordSet = new WordSet([
  [
    HANDS_OUT,
    "actuator/env actuator/heapdump actuator/configprops actuator/threaddump actuator/httptrace actuator/logfile",
  ],
  [
    HANDS_OUT,
    "actuator/httpexchanges actuator/sessions actuator/jolokia actuator/gateway actuator/trace actuator/dump",
  ],
  [
    OPERATES,
    "actuator/beans actuator/mappings actuator/loggers actuator/conditions actuator/auditevents actuator/metrics",
  ],
  [
    OPERATES,
    "actuator/scheduledtasks actuator/caches actuator/flyway actuator/liquibase actuator/shutdown actuator/restart",
  ],
  [OPERATES, "server-status server-info nginx_status stub_status balancer-manager phpinfo.php info.php adminer.php"],
  [OPERATES, "phpmyadmin myadmin pma jolokia jmx-console web-console invoker/jmxinvokerservlet h2-console"],
  [OPERATES, "manager/html manager/text host-manager/html trace.axd elmah.axd debug/pprof debug/vars _profiler"],
  [OPERATES, "solr/admin _cat/indices _cat/nodes _cluster/settings _nodes/stats cgi-bin/printenv cgi-bin/test-cgi"],
  [OPERATES, "latest/meta-data latest/user-data"],
]);
/** The whole path. */
const AT_ROOT: WordSet = new WordSet([[HANDS_OUT, "server-status server-info heapdump"]]);
const PAGES: WordSet = new WordSet([[1, PAGE_FOLDERS]]);
let plain: Uint8Array = EMPTY_BYTES;
