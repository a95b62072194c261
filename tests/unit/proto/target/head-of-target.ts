import { latin1 } from "../../../../src/core/bytes.ts";
import { HeaderId } from "../../../../src/message/header-block.ts";
import { methodFromName, RequestHead, TargetFlag } from "../../../../src/message/request-head.ts";

/**
 * A request head as the parser leaves it, but from any target, those included that the parser refuses.
 * @param target in origin form, one character a byte; it stands between other bytes, as on the wire
 */
export function headOfTarget(target: string, method = "GET", host = ""): RequestHead {
  const head = new RequestHead();
  const line = `${method} ${target} `;
  const bytes = latin1(`${line}HTTP/1.1\r\nHost: ${host}\r\n`);
  head.reset(bytes);
  head.method = methodFromName(method);
  head.methodTo = method.length;
  head.targetFrom = method.length + 1;
  head.targetTo = head.targetFrom + target.length;
  const hash = target.indexOf("#");
  const resource = hash < 0 ? target : target.slice(0, hash);
  const question = resource.indexOf("?");
  head.pathFrom = head.targetFrom;
  head.queryTo = head.targetFrom + resource.length;
  head.pathTo = question < 0 ? head.queryTo : head.targetFrom + question;
  head.targetFlags = flagsOf(target);
  if (host !== "") {
    const valueFrom = line.length + "HTTP/1.1\r\nHost: ".length;
    head.headers.push(HeaderId.Host, valueFrom - 6, valueFrom - 2, valueFrom, valueFrom + host.length);
  }
  return head;
}

function flagsOf(target: string): number {
  let flags = 0;
  for (const char of target) flags |= TargetFlag.Valid | (FLAGS[char] ?? 0);
  return target.includes("//") ? flags | TargetFlag.DoubleSlash : flags;
}

const FLAGS: Readonly<Record<string, number>> = {
  "%": TargetFlag.Percent,
  "\\": TargetFlag.Percent,
  ".": TargetFlag.Dot,
  "/": TargetFlag.Slash,
  "?": TargetFlag.Question,
  "#": TargetFlag.Hash,
  ...Object.fromEntries([..."$<{'\"(;|&`*!+"].map((mark) => [mark, TargetFlag.Mark])),
};
