// A grid of links is one stop of the Tab key; within it, arrows go from cell to cell.
const WAYS = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};

function next(grid, link, [down, right]) {
  const cell = link.closest("td, th");
  let row = cell.parentElement.rowIndex + down, column = cell.cellIndex + right;
  // Empty cells are passed over.
  for (; grid.rows[row]?.cells[column]; row += down, column += right) {
    const found = grid.rows[row].cells[column].querySelector("a");
    if (found) return found;
  }
  return null;
}

function stopAt(grid, link) {
  for (const one of grid.querySelectorAll("a")) one.tabIndex = one === link ? 0 : -1;
}

export function walkGrids(root) {
  for (const grid of root.querySelectorAll("[data-grid]")) {
    grid.setAttribute("role", "grid");
    stopAt(grid, grid.querySelector("a:focus") ?? grid.querySelector("a"));
    grid.onkeydown = (event) => {
      const link = event.target.closest("a"), way = WAYS[event.key];
      const found = link && way && next(grid, link, way);
      if (!found) return;
      event.preventDefault();
      stopAt(grid, found);
      found.focus();
    };
  }
}
