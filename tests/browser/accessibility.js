// What a page lacks for those who cannot see it, or not well: names, roles, structure, contrast. Gives a list of texts.
() => {
  const problems = [];
  const say = (element, text) => problems.push(`${text}: ${element.outerHTML.slice(0, 140)}`);
  const isShown = (element) => element.checkVisibility({opacityProperty: true, visibilityProperty: true})
    && !element.closest(".skip, [popover]:not(:popover-open)");
  const nameOf = (element) => (element.getAttribute("aria-label") || element.title
    || [...(element.labels || [])].map((one) => one.textContent).join(" ") || element.textContent || element.value
    || element.querySelector("img[alt], title")?.textContent || "").trim();

  if (!document.documentElement.lang) problems.push("the page has no language");
  if (document.querySelectorAll("h1").length !== 1) problems.push(`there are ${document.querySelectorAll("h1").length} h1`);
  if (document.querySelectorAll("main").length !== 1) problems.push("there is not one main");
  let level = 1;
  for (const heading of document.querySelectorAll("main :is(h1, h2, h3, h4, h5, h6)")) {
    const found = Number(heading.tagName[1]);
    if (found > level + 1) say(heading, `a heading of level ${found} follows one of level ${level}`);
    level = found;
  }
  const ids = new Set();
  for (const element of document.querySelectorAll("[id]")) {
    if (ids.has(element.id)) say(element, "an id that is there twice");
    ids.add(element.id);
  }
  for (const element of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")) {
    if (isShown(element) && !nameOf(element)) say(element, "without a name");
    // Hundreds of stops in a picture help nobody, if what it links to is listed elsewhere; in a grid, arrows go on.
    if (element.tabIndex < 0 && isShown(element) && !element.closest("svg[data-listed], [role=grid]")) say(element, "cannot be reached with the keyboard");
  }
  for (const element of document.querySelectorAll("[role=grid]")) {
    if (element.querySelectorAll("a[tabindex='0']").length !== 1) say(element, "a grid without its one stop");
    if (!nameOf(element)) say(element, "a grid without a name");
  }
  for (const element of document.querySelectorAll("img:not([alt])")) say(element, "an image without alt");
  for (const element of document.querySelectorAll("svg[role=img]:not([aria-label])")) say(element, "a picture without a name");
  for (const element of document.querySelectorAll("table")) if (isShown(element) && !element.querySelector("th")) say(element, "a table without heads");
  for (const element of document.querySelectorAll("[popovertarget], label[for]")) {
    const target = element.getAttribute("popovertarget") || element.htmlFor;
    if (!document.getElementById(target)) say(element, "points at nothing");
  }

  for (const element of document.querySelectorAll("svg[data-listed]")) {
    if (!document.querySelector(element.dataset.listed)) say(element, "a picture whose links are not listed");
  }

  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((x) => x / 255).map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4))
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const groundOf = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = rgba(getComputedStyle(one).backgroundColor);
      if (found[3] > 250) return found;
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "#000" : "#fff");
  };
  const seen = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!text || element.namespaceURI.endsWith("svg") || !isShown(element)) continue;
    const style = getComputedStyle(element);
    const ground = groundOf(element), ink = rgba(style.color);
    const key = `${ground}/${ink}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const [a, b] = [light(ground), light(ink)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) say(element, `contrast ${ratio.toFixed(2)}`);
  }
  return problems;
}
