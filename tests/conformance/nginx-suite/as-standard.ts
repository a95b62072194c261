// The suite ends the lines of most of its requests and responses with a bare LF, and its HTTP/2 client begins without SETTINGS. edge refuses
// both, so the files of the suite are run as copies that do as RFC 9112 §2.2 and RFC 9113 §3.4 have it.

/** The first line of a request or response within a text of Perl. */
const START_LINE = /^(?:HTTP\/\d\.\d \d|\S.* HTTP\/\d\.\d\s*$|\$\w+ \S+ HTTP\/)/;
const HEREDOC = /<<\s*(?:"([^"]*)"|'([^']*)'|([A-Z]\w*))/;
const FIELD = /^[A-Za-z][\w-]*: ?\S?/;
/** A text in double quotes that is a line of a head. */
const QUOTED_LINE = /"((?:HTTP\/|[A-Z]+ [^"]* HTTP\/|[A-Z][\w-]*: )[^"]*)"/g;
/** Perl takes a carriage return at the end of a line of source off, but not its escape. */
const CARRIAGE_RETURN = "\\x0d";

/** A file of the suite that does as the standards have it. */
export function asStandard(source: string): string {
  const lines = source.split("\n");
  const out: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const mark = line.trimStart().startsWith("#") ? null : HEREDOC.exec(line);
    if (mark === null) {
      out.push(quoted(line));
      continue;
    }
    const close = mark[1] ?? mark[2] ?? mark[3]!;
    const end = lines.indexOf(close, at + 1);
    const text = lines.slice(at + 1, end === -1 ? lines.length : end);
    const isPlain = mark[2] !== undefined;
    const canEscape = !isPlain || !text.some((one) => /[$@\\]/.test(one));
    const heads = canEscape ? withHeads(text) : text;
    const isChanged = heads.some((one, index) => one !== text[index]);
    out.push(quoted(isPlain && isChanged ? line.replace(`'${close}'`, `"${close}"`) : line), ...heads);
    at += text.length;
  }
  return PATCHES.reduce((text, [from, to]) => text.replaceAll(from, to), out.join("\n"));
}

/** Habits of the suite's clients and origins against the standards. */
const PATCHES: readonly (readonly [string, string])[] = [
  // A client begins with SETTINGS: RFC 9113 §3.4.
  ["raw_write($preface);", String.raw`raw_write($preface . (defined $extra{preface} ? '' : "\0\0\0\x04\0\0\0\0\0"));`],
  // An origin does so, too, before it has read a request.
  [`pure => 1, preface => "") or return;`, `pure => 1, preface => "") or return; $c->h2_settings(0);`],
  [`pure => 1, preface => "") or next;`, `pure => 1, preface => "") or next; $c->h2_settings(0);`],
  // edge has the TCP socket of a port beside that for datagrams, which the suite keeps to itself.
  ["socket => $lock\n", "socket => $opts{udp} ? undef : $lock\n"],
  ["unless $_ == 1;", "unless $_ == 1 && !$opts{udp};"],
  // A busy machine takes longer to start it.
  ["for (1 .. 50) {\n\t\treturn 1 if -e", "for (1 .. 400) {\n\t\treturn 1 if -e"],
  // A request's head that was put together of parts.
  [
    "log_out($request);\n\t\t$s->print($request);",
    String.raw`my ($h, $b) = $request =~ /\A(.*?\x0a\x0d?\x0a)(.*)\z/s ? ($1, $2) : ($request, ''); $h =~ s/\x0d*\x0a/\x0d\x0a/g; $request = "$h$b"; log_out($request); $s->print($request);`,
  ],
  // A client of HTTP/3 ignores frames and streams that it does not know: RFC 9114 §9.
  ["# push stream\n", "next if $uni == 2 || $uni > 3;\n"],
  [
    "$frame = $cframe{$type}{value}($self, $buf, $length);",
    "$frame = $cframe{$type}{value} ? $cframe{$type}{value}($self, $buf, $length) : {};",
  ],
  ["$frame->{type} = $cframe{$type}{name};", "$frame->{type} = $cframe{$type}{name} // 'unknown';"],
  // A field section requires the insertions that it refers to, and no more: RFC 9204 §4.5.1.
  [
    "my $ric = $uri->{ric} ? $uri->{ric} : @$table ? @$table + 1 : 0;\n\tmy $base = $uri->{base} || 0;",
    String.raw`my ($needed, $all) = (0, scalar @$table);
	for my $h (@{$headers || []}) {
		my $mode = defined $h->{mode} ? $h->{mode} : 4;
		my $at = $mode == 1 || $mode == 3 ? 0 : -1;
		if ($h->{dyn} && ($mode == 0 || $mode == 2)) {
			$at = 0;
			++$at until $at >= $all or $table->[$at][0] eq $h->{name} && ($mode == 2 || $table->[$at][1] eq $h->{value});
		}
		$needed = $all - $at if $at >= 0 && $all - $at > $needed;
	}
	my $ric = $uri->{ric} ? $uri->{ric} : $needed ? $needed + 1 : 0;
	my $base = $uri->{base} || ($needed && !$uri->{ric} ? $all - $needed : 0);`,
  ],
  // Padding of a Huffman code has at most seven bits: RFC 7541 §5.2.
  ["(8 - length($ret) % 8)", "(-length($ret) % 8)"],
];

/** The lines of a text, whose heads end theirs with an escape for the carriage return. */
function withHeads(lines: readonly string[]): string[] {
  let isHead = false;
  return lines.map((line) => {
    isHead ||= START_LINE.test(line);
    if (!isHead) return line;
    if (line === "") isHead = false;
    return `${line}${CARRIAGE_RETURN}`;
  });
}

/** A line of code whose quoted lines of a head end with CRLF. */
function quoted(line: string): string {
  return line.replaceAll(QUOTED_LINE, (whole, text: string) =>
    FIELD.test(text) || text.includes("HTTP/") ? `"${text.replaceAll(/(?<!\\r|\\x0d)\\n/g, "\\r\\n")}"` : whole,
  );
}
