// Live pages: at an event the page is asked for again, and its live parts that differ are put in place.
const LIVE = "[data-live][id]";
const KINDS = ["run", "step", "workflow", "action", "signal", "trigger"];
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

// A part in the place of what is shown, with all that the reader did to that.
function replace(shown, part) {
  const folds = new Map([...shown.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  const places = [...shown.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
  const last = focusIn(shown);
  shown.replaceWith(part);
  for (const one of part.querySelectorAll("details[id]")) one.open = folds.get(one.id) ?? one.open;
  [...part.querySelectorAll(".scroll")].forEach((one, index) => {
    if (places[index]) [one.scrollLeft, one.scrollTop] = places[index];
  });
  focusAgain(part, last);
}

// A part that was not there comes after the one that it follows, or before all others.
function add(part, previous) {
  const first = document.querySelector(LIVE);
  if (previous) previous.after(part);
  else if (first) first.before(part);
  else document.getElementById("main").append(part);
}

function takeOver(fresh, enhance) {
  const parts = [...fresh.querySelectorAll(LIVE)], ids = new Set(parts.map((one) => one.id));
  let previous = null;
  for (const part of parts) {
    const shown = document.getElementById(part.id), text = part.outerHTML, before = previous;
    previous = shown ?? part;
    if (shown && (sent.get(part.id) === text || isBusy(shown))) continue;
    sent.set(part.id, text);
    // A part that keeps itself current, such as a log, stays as long as it is about the same.
    if (shown?.dataset.keep && shown.dataset.keep === part.dataset.keep) continue;
    previous = part;
    if (shown) replace(shown, part);
    else add(part, before);
    enhance(part);
  }
  for (const shown of document.querySelectorAll(LIVE)) {
    if (ids.has(shown.id) || isBusy(shown)) continue;
    sent.delete(shown.id);
    shown.remove();
  }
}

export function followChanges(enhance) {
  const {events: address, after: seen} = document.body.dataset;
  if (!address) return;
  let waiting = false, asking = false, rest = REST_MS, ticking = 0, stream = null;
  async function refresh() {
    waiting = false;
    // Nobody looks: the page is asked for when it is shown again.
    if (!stream) return;
    if (asking) return later();
    asking = true;
    const begun = performance.now();
    try {
      const answer = await fetch(location.href, {headers: {accept: "text/html"}});
      // Another page, such as the login, has parts of its own or none.
      const isSame = answer.ok && !answer.redirected;
      if (isSame) takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"), enhance);
    } catch { /* the server is away: the stream comes back with it, and then the page is asked for again */ }
    asking = false;
    rest = Math.max(REST_MS, REST_FOR_EACH * (performance.now() - begun));
    tick();
  }
  // What is told without an event, such as a progress, is looked at now and then while something runs.
  function tick() {
    clearTimeout(ticking);
    const beat = document.querySelector("[data-ticking]");
    if (beat) ticking = setTimeout(later, Number(beat.dataset.ticking) * 1000 || TICK_MS);
  }
  function later() {
    if (!waiting) { waiting = true; setTimeout(refresh, rest); }
  }
  function open(after) {
    const place = new URL(address, location.href);
    if (after) place.searchParams.set("after", after);
    stream = new EventSource(place);
    for (const kind of KINDS) stream.addEventListener(kind, later);
    // A stream from where the page was made leaves nothing out; any other began later than what is shown.
    let isWhole = Boolean(after);
    stream.onopen = () => { if (!isWhole) later(); isWhole = false; };
  }
  function close() {
    stream?.close();
    stream = null;
  }
  // A page that nobody sees leaves its connection to others: a browser has about six to a host.
  function look() {
    if (document.hidden) close();
    else if (!stream) open();
  }
  if (!document.hidden) open(seen);
  tick();
  document.addEventListener("visibilitychange", look);
  addEventListener("pageshow", look);
  addEventListener("pagehide", close);
}
