// Relative times stay true while a page is open.
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function ago(at, now) {
  const seconds = Math.floor(Math.abs(now - at) / 1000);
  if (seconds < 5) return "just now";
  const [unit, name] = UNITS.find(([size]) => seconds >= size);
  const text = `${Math.floor(seconds / unit)} ${name}`;
  return at < now ? `${text} ago` : `in ${text}`;
}

export function keepTimesCurrent() {
  setInterval(() => {
    const now = Date.now();
    for (const element of document.querySelectorAll("time[datetime]")) {
      const text = ago(Date.parse(element.dateTime), now);
      if (element.textContent !== text) element.textContent = text;
    }
  }, 1000);
}

// The server knows UTC; the zone of the reader is known to the browser alone.
export function offerOwnZone() {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const link of document.querySelectorAll("[data-zone]")) {
    const shown = link.textContent.trim(), other = shown === "UTC" ? own : "UTC";
    // The link leads to a choice of all zones where these two are the same.
    if (other === shown) continue;
    link.href = `/preferences/zone?to=${encodeURIComponent(other)}&back=${encodeURIComponent(link.dataset.back)}`;
    link.title = `Show times in ${other}`;
  }
}
