// What pages do beyond being read. Every part is optional: without it a page still says all it knows.
import {keepTimesCurrent, offerOwnZone} from "./times.js";
import {followChanges} from "./live.js";
import {followLogs} from "./logs.js";
import {walkGrids} from "./grids.js";

function offerCopies(root) {
  // Browsers give it to pages of this machine, and to those that come encrypted.
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.onclick = async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    };
  }
}

function enhance(root) {
  offerCopies(root);
  followLogs(root);
  walkGrids(root);
}

// What was done is told once, not again at a reload or from a bookmark.
function forgetTold() {
  const here = new URL(location.href);
  if (!here.searchParams.has("told")) return;
  here.searchParams.delete("told");
  history.replaceState(history.state, "", here);
}

forgetTold();
enhance(document);
offerOwnZone();
keepTimesCurrent();
followChanges(enhance);
