// Logs that follow: a piece at a time, from where the last one ended, until the log is complete.
const REST_MS = 1000;
// More than this is not kept on the page: the beginning goes, the end is what is read.
const MOST = 2_000_000;

function rest() {
  return new Promise((done) => setTimeout(done, REST_MS));
}

function show(element, text) {
  const atEnd = element.scrollTop + element.clientHeight >= element.scrollHeight - 20;
  element.append(text);
  let length = element.textContent.length;
  while (length > MOST && element.childNodes.length > 1) {
    length -= element.firstChild.textContent.length;
    element.firstChild.remove();
  }
  if (atEnd) element.scrollTop = element.scrollHeight;
}

// The next piece; null where there is none to be had now, undefined where there never will be.
async function ask(address, offset) {
  try {
    const answer = await fetch(`${address}&offset=${offset}`);
    if (answer.ok) return await answer.json();
    return answer.status < 500 ? undefined : null;
  } catch {
    return null;
  }
}

async function follow(element) {
  let offset = Number(element.dataset.offset || 0);
  element.scrollTop = element.scrollHeight;
  while (element.isConnected) {
    const piece = await ask(element.dataset.log, offset);
    if (piece === undefined) return;
    if (piece?.text) show(element, piece.text);
    offset = piece?.next_offset ?? offset;
    if (piece?.complete) return;
    if (!piece?.text) await rest();
  }
}

export function followLogs(root) {
  for (const element of root.querySelectorAll("[data-log]")) {
    if (element.dataset.followed) continue;
    element.dataset.followed = "1";
    follow(element);
  }
}
