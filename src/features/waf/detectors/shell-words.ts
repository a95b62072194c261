import { Byte, isDigit, isLowerLetter } from "../../../core/bytes.ts";
import { classEnd, PROGRAM_NAME } from "../match/scan.ts";
import { WordSet } from "../match/word-set.ts";

/** How much a command's name alone says. */
export const enum Command {
  /** Asks who and where one is: hardly a word of any prose, and needs no argument. */
  Query = 1,
  /** Likewise, but short enough to be a column of a list. */
  Short,
  /** A word of prose, or a list of tools, unless it has an argument. */
  Argument,
  /** Takes any word for its argument. */
  Echo,
  /** Takes a verb for its argument. */
  Service,
  /** Runs programs. */
  Shell,
  /** Takes a command for its argument. */
  Runner,
  /** Hardly a word of prose: one path among its arguments is enough. */
  Tool,
  /** What a shell line of a manual begins with, and no attack. */
  Manual,
}

/** Whether one of PowerShell's commands is at `from`: Invoke-WebRequest. */
export function isCmdlet(bytes: Uint8Array, from: number): boolean {
  const to = classEnd(bytes, from, PROGRAM_NAME);
  const isNoun = bytes[to] === Byte.Dash && isLowerLetter(bytes[to + 1]!);
  return isNoun && VERBS.valueOf(bytes, from, to) !== 0;
}

/** Whether the options of ps that need no dash stand at `from`. */
export function isProcessOption(bytes: Uint8Array, from: number): boolean {
  const to = classEnd(bytes, from, PROGRAM_NAME);
  return PROCESS_OPTIONS.valueOf(bytes, from, to) !== 0;
}

/** Whether $IFS, ${x}, $(x), $@ or $x/ is right after a command. A column of R, df$x, is followed by none of that. */
export function isExpansion(bytes: Uint8Array, from: number): boolean {
  if (bytes[from] !== Byte.Dollar) return false;
  const to = classEnd(bytes, from + 1, PROGRAM_NAME);
  return to === from + 1 || bytes[to] === Byte.Slash || bytes[to] === Byte.Dollar || isNamed(bytes, from + 1, to);
}

function isNamed(bytes: Uint8Array, from: number, to: number): boolean {
  return isDigit(bytes[from]!) || EXPANSIONS.valueOf(bytes, from, Math.min(to, from + 3)) !== 0;
}

/** Whether nothing but the end of a command comes after the number at `from`: sleep 5; and not "top 10 songs". */
export function isLastNumber(bytes: Uint8Array, from: number): boolean {
  let at = classEnd(bytes, from, PROGRAM_NAME);
  while (bytes[at] === Byte.Space) at++;
  return !isLowerLetter(bytes[at]!) && bytes[at] !== Byte.CloseParen && bytes[at] !== Byte.Comma;
}

const GROUPS: readonly (readonly [Command, string])[] = [
  [Command.Query, "whoami uname ifconfig ipconfig netstat systeminfo tasklist printenv nslookup lsb_release"],
  [Command.Query, "getent arp"],
  [Command.Short, "id ls ps pwd env dir ver hostname"],
  [Command.Argument, "cat tac nl od xxd head tail more less strings rev sort find cut wc stat"],
  [
    Command.Argument,
    "du df file wget curl lynx ftp tftp scp sftp rsync ping ping6 traceroute dig host telnet telnetd nc",
  ],
  [Command.Argument, "ncat netcat socat nmap python python2 python3 perl ruby php node lua gcc fetch"],
  [Command.Argument, "touch ln mknod mkfifo dd tar zip unzip gzip base64 openssl kill pkill killall sleep"],
  [Command.Argument, "mail sendmail useradd adduser usermod passwd su crontab tee reboot"],
  [Command.Argument, "halt poweroff mount umount iptables type copy del certutil bitsadmin rundll32 regsvr32"],
  [Command.Argument, "mshta cscript wscript taskkill schtasks vssadmin attrib findstr timeout set who w last top"],
  [Command.Argument, "history alias service systemctl"],
  [Command.Service, "net netsh reg sc wmic ip"],
  [Command.Tool, "grep egrep awk sed rm cp mv chmod chown"],
  [Command.Runner, "nohup xargs busybox"],
  [Command.Echo, "echo printf"],
  [Command.Shell, "sh bash zsh ksh dash csh tcsh fish ash rbash powershell pwsh cmd eval exec source iex"],
  [Command.Manual, "git npm npx yarn pnpm docker docker-compose kubectl helm make cmake cargo go pip pip3 brew"],
  [Command.Manual, "apt apt-get yum dnf apk cd mkdir export sudo ssh mvn gradle terraform aws gcloud heroku"],
  [Command.Manual, "composer rake rails bundle gem run ansible vagrant journalctl screen tmux vim nano"],
];

/** The commands that need no argument, and whose names are no words of prose, separated by blanks. */
export const QUERY_COMMANDS: string = GROUPS.flatMap(([kind, names]) => (kind === Command.Query ? [names] : [])).join(
  " ",
);

/** The commands that attacks run, separated by blanks. */
export const SHELL_COMMANDS: string = GROUPS.flatMap(([kind, names]) => (kind === Command.Manual ? [] : [names])).join(
  " ",
);

/** All of them, and those that tell a manual. */
export const COMMANDS: WordSet = new WordSet(GROUPS);

/** What the commands that take a verb are told to do. */
export const SERVICE_VERBS: WordSet = new WordSet([
  [
    1,
    "user users localgroup group share view use accounts session query add delete firewall advfirewall interface wlan start stop config process os service addr neigh",
  ],
]);
const VERBS: WordSet = new WordSet([
  [1, "invoke get set new start stop add remove import export out write test clear"],
]);
const PROCESS_OPTIONS: WordSet = new WordSet([[1, "aux auxw auxww axu ef"]]);
const EXPANSIONS: WordSet = new WordSet([[1, "ifs"]]);
