/** Takes what is typed: a character, or `up`, `down`, `pageup`, `pagedown`, `home`, `end`. */
type KeyListener = (key: string) => void;

/**
 * A terminal as one screen that is drawn anew. `leave` gives it back as it was, whatever has happened; it is also given back when the
 * process ends by itself.
 */
export class FullScreen {
  private readonly onKey: KeyListener;
  private readonly onResize: () => void;
  private isOn = false;
  private readonly restore = (): void => this.leave();
  private readonly keys = (chunk: Buffer | string): void => this.read(String(chunk));

  /**
   * @param onKey takes what is typed; Ctrl-C is `q`
   * @param onResize the size has changed, or the screen is back after a stop
   */
  constructor(onKey: KeyListener, onResize: () => void) {
    this.onKey = onKey;
    this.onResize = onResize;
  }

  get width(): number {
    return Math.max(20, process.stdout.columns ?? 80);
  }

  get height(): number {
    return Math.max(8, process.stdout.rows ?? 24);
  }

  /** Takes the terminal. */
  enter(): void {
    if (this.isOn) return;
    this.isOn = true;
    process.on("exit", this.restore);
    process.stdout.on("resize", this.onResize);
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(true);
      process.stdin.on("data", this.keys);
      process.stdin.resume();
    }
    write(`${OTHER_SCREEN}${HIDE_CURSOR}${NO_WRAP}`);
  }

  /** Gives the terminal back. */
  leave(): void {
    if (!this.isOn) return;
    this.isOn = false;
    process.off("exit", this.restore);
    process.stdout.off("resize", this.onResize);
    if (process.stdin.isTTY) {
      process.stdin.off("data", this.keys);
      process.stdin.setRawMode(false);
      process.stdin.pause();
    }
    write(`${WRAP}${SHOW_CURSOR}${FIRST_SCREEN}`);
  }

  /** Draws the screen; what was there does not flicker. */
  draw(lines: readonly string[]): void {
    if (!this.isOn) return;
    // Cleared before it is written: in the last column the cursor stays on what was written last.
    write(`${HOME}${lines.map((line) => `${CLEAR_LINE}${line}`).join("\r\n")}`);
  }

  private read(text: string): void {
    for (const [key] of text.matchAll(KEY)) {
      const name = NAMES.get(key) ?? key;
      if (name === CTRL_Z) this.stop();
      else if (name === CTRL_C || name === ESCAPE) this.onKey("q");
      else this.onKey(name);
    }
  }

  /** The shell has the terminal until it says `fg`. */
  private stop(): void {
    this.leave();
    process.once("SIGCONT", () => {
      this.enter();
      this.onResize();
    });
    process.kill(process.pid, "SIGTSTP");
  }
}

/** A terminal that is gone takes nothing more. */
function write(text: string): void {
  try {
    process.stdout.write(text);
  } catch {
    // The signal that says so ends the command.
  }
}

const OTHER_SCREEN = "\u001b[?1049h";
const FIRST_SCREEN = "\u001b[?1049l";
const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
const NO_WRAP = "\u001b[?7l";
const WRAP = "\u001b[?7h";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CTRL_C = "\u0003";
const CTRL_Z = "\u001a";
const ESCAPE = "\u001b";
/** A sequence of a key without a letter of its own, or a character. */
const KEY = /\u001b\[[0-9;]*[A-Za-z~]|\u001bO[A-Z]|[\s\S]/gu;
const NAMES: ReadonlyMap<string, string> = new Map([
  ["\u001b[A", "up"],
  ["\u001bOA", "up"],
  ["\u001b[B", "down"],
  ["\u001bOB", "down"],
  ["\u001b[5~", "pageup"],
  ["\u001b[6~", "pagedown"],
  ["\u001b[H", "home"],
  ["\u001b[F", "end"],
]);
