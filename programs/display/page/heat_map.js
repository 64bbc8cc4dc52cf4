// A strip for each kind of tensor, a cell for each layer: coloured by the worst SNR, or by the share of
// values lost.

// Which layer a name says that its tensor is in, and which of the layer's tensors it is. The first part
// that is a number is the layer's; experts and the like, numbers behind it, are of one kind.
function placeOf(name) {
  const parts = name.split(/[./]/);
  const at = parts.findIndex((part) => /^\d{1,5}$/.test(part));
  const kindOf = (some) => some.map((part) => (/^\d+$/.test(part) ? "*" : part)).join(".");
  if (at < 0 || at + 1 >= parts.length) return {layer: -1, stack: "", kind: kindOf(parts)};
  return {layer: Number(parts[at]), stack: parts.slice(0, at).join("."), kind: kindOf(parts.slice(at + 1))};
}

// The places of all tensors: indices of kinds, with the stack of layers in front where there are several.
function placesOf(names) {
  const places = names.map(placeOf);
  const stacks = new Set(places.filter((place) => place.layer >= 0).map((place) => place.stack));
  const kinds = [], numbers = new Map();
  const kind = new Int32Array(names.length), layer = new Int32Array(names.length);
  places.forEach((place, i) => {
    const text = place.layer >= 0 && stacks.size > 1 && place.stack !== ""
      ? place.stack + ".#." + place.kind : place.kind;
    if (!numbers.has(text)) {
      numbers.set(text, kinds.length);
      kinds.push({text, layered: place.layer >= 0, tensors: 0});
    }
    kind[i] = numbers.get(text);
    layer[i] = place.layer;
    ++kinds[kind[i]].tensors;
  });
  return {kinds, kind, layer};
}

const HEAT_STRIPS = 60;   // kinds that are drawn at most
const HEAT_LAYERS = 512;

const GONE = ["nan_lost", "to_nan", "to_infinity", "to_limit", "wrapped", "to_zero"];

// What each cell has come to: the worst SNR, and the share of values that were lost.
function cellsOf(report, series) {
  const {kind, layer} = report.places;
  const cells = new Map();
  const figures = series.figures, gone = GONE.map((key) => figures[key]).filter(Boolean);
  for (let i = 0; i < report.names.length; ++i) {
    const state = series.state[i];
    const measured = figures.snr_db && figures.snr_db[i] !== null;
    if (state < 0 || !(measured || gone.some((column) => column[i] !== null))) continue;
    const key = kind[i] + ":" + layer[i];
    let cell = cells.get(key);
    if (!cell) cells.set(key, cell = {tensors: 0, snr: Infinity, gone: 0, values: 0});
    ++cell.tensors;
    const snr = measured && figures.snr_db[i] !== "?" ? figures.snr_db[i] : -Infinity;
    cell.snr = Math.min(cell.snr, snr);
    cell.values += report.elements[i];
    for (const column of gone) cell.gone += column[i] || 0;
  }
  return cells;
}

function heatColour(share) {  // 0: the worst, 1: the best
  const style = getComputedStyle(document.documentElement);
  const stops = [0, 1, 2, 3, 4].map((n) => style.getPropertyValue("--heat-" + n).trim());
  const at = Math.max(0, Math.min(1, share)) * 4, low = Math.min(3, Math.floor(at)), part = at - low;
  const channel = (text, k) => parseInt(text.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mixed = [0, 1, 2].map((k) => Math.round(channel(stops[low], k) * (1 - part) + channel(stops[low + 1], k) * part));
  return `rgb(${mixed.join(" ")})`;
}

// By SNR 20 dB, below which a tensor counts as poor, has its own place: the colours below are the strong
// ones, and above it they fade fast. By loss it is a scale of powers of ten.
function heatScale(cells, by) {
  if (by === "snr") {
    const low = Math.min(10, ...[...cells.values()].map((cell) => cell.snr).filter(Number.isFinite));
    const share = ({snr}) => (snr < 20 ? 0.45 * (snr - low) / (20 - low) : 1 - 0.55 * Math.exp((20 - snr) / 12));
    return {share, marks: [[0, decibelText(low) + " dB"], [0.45, "20"], [0.76, "30"], [0.94, "45"]]};
  }
  const share = ({gone, values}) => (gone === 0 ? 1 : 0.9 * Math.min(1, -Math.log10(gone / values) / 4));
  return {share, marks: [[0, "all"], [0.225, "10 %"], [0.45, "1 %"], [0.675, "0.1 %"], [1, "none"]]};
}

// Draws the map; `choose` is called with the kind and the layer of a cell. Returns whether there is one.
function drawHeatMap(report, series, by, choose) {
  const map = byId("map"), cells = cellsOf(report, series);
  const layers = [...new Set([...cells.keys()].map((key) => Number(key.split(":")[1])))]
    .filter((layer) => layer >= 0).sort((a, b) => a - b).slice(0, HEAT_LAYERS);
  const strips = report.places.kinds
    .map((kind, number) => ({...kind, number}))
    .filter((kind) => [...layers, -1].some((layer) => cells.has(kind.number + ":" + layer)));
  const layered = strips.filter((kind) => kind.layered);
  byId("heat").hidden = layers.length < 2;
  if (layers.length < 2) return;
  const shown = [...layered.slice(0, HEAT_STRIPS), ...strips.filter((kind) => !kind.layered).slice(0, 8)];

  const scale = heatScale(cells, by);
  byId("legend").replaceChildren(make("i", {}), ...scale.marks.map(([at, text]) => make("span", {style: `left:${100 * at}%`}, text)));
  map.replaceChildren();
  map.style.setProperty("--widest", 4.5 * layers.length + "rem");
  const ticks = make("div", {class: "ticks"});
  const step = [1, 2, 4, 5, 10, 20, 50, 100].find((n) => layers.length / n <= 16) || 100;
  layers.forEach((layer, column) => {
    if (column % step !== 0) return;
    ticks.append(make("span", {style: `left:${100 * (column + 0.5) / layers.length}%`}, String(layer)));
  });
  const grid = [];  // of the cells drawn, by strip
  for (const strip of shown) {
    if (!strip.layered && !ticks.isConnected) map.append(make("div", {class: "label corner"}, "layer"), ticks);
    const drawing = make("svg", {viewBox: `0 0 ${layers.length} 1`, preserveAspectRatio: "none", "aria-hidden": "true"});
    const row = [];
    (strip.layered ? layers : [-1]).forEach((layer, column) => {
      const cell = cells.get(strip.number + ":" + layer);
      if (!cell) return;
      const rect = make("rect", {x: column, y: 0, width: 1, height: 1, fill: heatColour(scale.share(cell))});
      rect.cell = {...cell, strip, layer};
      row.push(rect);
      drawing.append(rect);
    });
    grid.push(row);
    map.append(make("div", {class: "label name", title: strip.text}, make("bdi", {}, strip.text)), drawing);
  }
  if (!ticks.isConnected) map.append(make("div", {class: "label corner"}, "layer"), ticks);
  const more = layered.length - HEAT_STRIPS;
  byId("map-help").textContent = "Each column is a layer, each row a kind of tensor"
    + (by === "snr" ? ", coloured by its worst SNR" : ", coloured by the share of values that became zero, a limit, Inf or NaN")
    + (more > 0 ? `; ${more} more kinds are in the table` : "")
    + ". A click, or the arrow keys and Enter, shows the tensors of a cell.";
  listenToMap(map, grid, choose);
}

function cellText(cell) {
  const where = cell.layer >= 0 ? `layer ${cell.layer}, ${cell.strip.text}` : cell.strip.text;
  const lost = cell.gone > 0 ? `, ${shareText(cell.gone, cell.values)} of the values lost` : "";
  const several = cell.tensors > 1 ? `, the worst of ${cell.tensors}` : "";
  return `${where}: ${decibelText(cell.snr)} dB${several}${lost}`;
}

function listenToMap(map, grid, choose) {
  let strip = 0, column = 0;
  const tip = byId("tip");
  const show = (rect) => {
    map.querySelectorAll(".here").forEach((one) => one.classList.remove("here"));
    if (!rect) { tip.hidden = true; return; }
    rect.classList.add("here");
    tip.textContent = cellText(rect.cell);
    tip.hidden = false;
    const box = rect.getBoundingClientRect(), own = tip.getBoundingClientRect();
    tip.style.left = Math.max(8, Math.min(innerWidth - own.width - 8, box.left + box.width / 2 - own.width / 2)) + "px";
    tip.style.top = (box.top > own.height + 12 ? box.top - own.height - 6 : box.bottom + 6) + "px";
  };
  map.onpointermove = (event) => show(event.target.cell ? event.target : null);
  map.onpointerleave = () => show(null);
  map.onblur = () => show(null);
  map.onclick = (event) => {
    if (!event.target.cell) return;
    show(null);
    choose(event.target.cell.strip.number, event.target.cell.layer);
  };
  map.onkeydown = (event) => {
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};
    const rect = () => grid[strip] && grid[strip][Math.min(column, grid[strip].length - 1)];
    if (event.key in steps) {
      strip = Math.max(0, Math.min(grid.length - 1, strip + steps[event.key][0]));
      column = Math.max(0, Math.min(grid[strip].length - 1, column + steps[event.key][1]));
      show(rect());
    } else if (event.key === "Enter" && rect()) {
      show(null);
      choose(rect().cell.strip.number, rect().cell.layer);
    } else if (event.key === "Escape") {
      show(null);
    } else {
      return;
    }
    event.preventDefault();
  };
}
