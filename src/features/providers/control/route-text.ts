/** Why a text that others write is no route that edge reads, with the cure: a few seconds of reading would hold the control thread. "" if it may be one. */
export function textFault(text: string): string {
  if (text.includes("\ufffd")) return "the text is no UTF-8, or has the character U+FFFD";
  let marks = 0;
  for (const _ of text.matchAll(/[:,\n]/g))
    if (++marks > MAX_MARKS)
      return `one route of more than ${MAX_MARKS} colons, commas and line ends: put it into routes.yaml`;
  return "";
}

const MAX_MARKS = 50_000;
