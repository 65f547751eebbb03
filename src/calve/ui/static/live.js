// Live pages: at an event the page is asked for again, and its live parts that differ are put in place.
const REST_MS = 300;
const TICK_MS = 3000;

function isBusy(element) {
  return element.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")
    || element.querySelector(":popover-open") !== null;
}

function takeOver(fresh, enhance) {
  for (const part of fresh.querySelectorAll("[data-live][id]")) {
    const shown = document.getElementById(part.id);
    if (!shown || shown.outerHTML === part.outerHTML || isBusy(shown)) continue;
    // A part that keeps itself current, such as a log, stays as long as it is about the same.
    if (shown.dataset.keep && shown.dataset.keep === part.dataset.keep) continue;
    const open = new Set([...shown.querySelectorAll("details[open][id]")].map((one) => one.id));
    const places = new Map([...shown.querySelectorAll(".scroll")].map((one, index) => [index, [one.scrollLeft, one.scrollTop]]));
    const focused = shown.contains(document.activeElement) ? document.activeElement.id : "";
    shown.replaceWith(part);
    for (const one of part.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
    [...part.querySelectorAll(".scroll")].forEach((one, index) => {
      const place = places.get(index);
      if (place) [one.scrollLeft, one.scrollTop] = place;
    });
    if (focused) document.getElementById(focused)?.focus({preventScroll: true});
    enhance(part);
  }
}

export function followChanges(enhance) {
  const address = document.body.dataset.events;
  if (!address) return;
  let waiting = false, asking = false;
  async function refresh() {
    waiting = false;
    if (asking) return later();
    asking = true;
    try {
      const answer = await fetch(location.href, {headers: {accept: "text/html"}});
      if (answer.ok) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"), enhance);
    } catch { /* the server is away: the stream comes back with it, and then the page is asked for again */ }
    asking = false;
    tick();
  }
  // What is told without an event, such as a progress, is looked at now and then while something runs.
  let ticking = 0;
  function tick() {
    clearTimeout(ticking);
    const beat = document.querySelector("[data-ticking]");
    if (beat) ticking = setTimeout(later, Number(beat.dataset.ticking) * 1000 || TICK_MS);
  }
  function later() {
    if (!waiting) { waiting = true; setTimeout(refresh, REST_MS); }
  }
  tick();
  const stream = new EventSource(address);
  for (const kind of ["run", "step", "workflow", "action"]) stream.addEventListener(kind, later);
  let broken = false;
  stream.onopen = () => { if (broken) { broken = false; later(); } };
  stream.onerror = () => { broken = true; };
  addEventListener("pagehide", () => stream.close());
}
