// Live pages: at an event the page is asked for again, and its live parts that differ are put in place.
const REST_MS = 300;
// A page that is dear is asked for less often: one reader takes a sixth of a server at most.
const REST_FOR_EACH = 5;
const TICK_MS = 3000;

function isBusy(element) {
  return element.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")
    || element.querySelector(":popover-open") !== null;
}

const REACHED = "a[href], button, summary, [tabindex]";

// Where the focus is within a part, so that somebody who goes by keys is not sent back to the top of the page.
function focusIn(part) {
  const one = document.activeElement;
  if (!part.contains(one) || one === part) return null;
  const place = [...part.querySelectorAll(REACHED)].indexOf(one);
  return {id: one.id, place, target: one.getAttribute("href") ?? one.getAttribute("popovertarget")};
}

function focusAgain(part, last) {
  if (!last) return;
  const found = [...part.querySelectorAll(REACHED)];
  const goesTo = (one) => (one.getAttribute("href") ?? one.getAttribute("popovertarget")) === last.target;
  const same = last.target && (goesTo(found[last.place] ?? part) ? found[last.place] : found.find(goesTo));
  const next = (last.id && document.getElementById(last.id)) || same || found[Math.min(last.place, found.length - 1)];
  next?.focus({preventScroll: true});
}

// Parts as the server last sent them: what is shown has been touched since.
const sent = new Map();

function takeOver(fresh, enhance) {
  for (const part of fresh.querySelectorAll("[data-live][id]")) {
    const shown = document.getElementById(part.id), text = part.outerHTML;
    if (!shown || sent.get(part.id) === text || isBusy(shown)) continue;
    sent.set(part.id, text);
    // A part that keeps itself current, such as a log, stays as long as it is about the same.
    if (shown.dataset.keep && shown.dataset.keep === part.dataset.keep) continue;
    const open = new Set([...shown.querySelectorAll("details[open][id]")].map((one) => one.id));
    const places = new Map([...shown.querySelectorAll(".scroll")].map((one, index) => [index, [one.scrollLeft, one.scrollTop]]));
    const last = focusIn(shown);
    shown.replaceWith(part);
    for (const one of part.querySelectorAll("details[id]")) if (open.has(one.id)) one.open = true;
    [...part.querySelectorAll(".scroll")].forEach((one, index) => {
      const place = places.get(index);
      if (place) [one.scrollLeft, one.scrollTop] = place;
    });
    focusAgain(part, last);
    enhance(part);
  }
}

export function followChanges(enhance) {
  const address = document.body.dataset.events;
  if (!address) return;
  let waiting = false, asking = false, rest = REST_MS;
  async function refresh() {
    waiting = false;
    if (asking) return later();
    asking = true;
    const begun = performance.now();
    try {
      const answer = await fetch(location.href, {headers: {accept: "text/html"}});
      if (answer.ok) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"), enhance);
    } catch { /* the server is away: the stream comes back with it, and then the page is asked for again */ }
    asking = false;
    rest = Math.max(REST_MS, REST_FOR_EACH * (performance.now() - begun));
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
    if (!waiting) { waiting = true; setTimeout(refresh, rest); }
  }
  tick();
  const stream = new EventSource(address);
  for (const kind of ["run", "step", "workflow", "action"]) stream.addEventListener(kind, later);
  let broken = false;
  stream.onopen = () => { if (broken) { broken = false; later(); } };
  stream.onerror = () => { broken = true; };
  addEventListener("pagehide", () => stream.close());
}
