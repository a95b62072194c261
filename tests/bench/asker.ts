// A thread that asks for a URL again as soon as it has its response, until it is told to stop.
const scope = globalThis as unknown as {
  postMessage(asked: number): void;
  onmessage: ((event: { data: string }) => void) | null;
};
let isOver = false;

scope.onmessage = ({ data }) => {
  if (data === "") isOver = true;
  else void ask(data);
};

async function ask(url: string): Promise<void> {
  let asked = 0;
  for (; !isOver; asked++) {
    // However it ends: what is measured is what others notice.
    await fetch(url)
      .then((response) => response.arrayBuffer())
      .catch(() => {});
  }
  scope.postMessage(asked);
}
