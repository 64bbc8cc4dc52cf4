// The tensors in a list of which only the rows in sight are elements: there may be 100,000.

// What can stand in a column: `width` in rem; of those that do not fit the highest `goes` goes first.
function columnsOf(report, series) {
  const figures = series.figures, several = report.series.length > 1;
  const figure = (key, title, width, goes, text, help) => figures[key] &&
    {key, title, width, goes, help, value: (i) => figures[key][i], text: (i) => text(figures[key][i], i)};
  const count = (n) => (n === null ? "" : n === 0 ? "·" : countText(n));
  const share = (n, i) => (n === null ? "" : report.elements[i] === 0 ? count(n) : shareText(n, report.elements[i]));
  const isSaid = (column) => column.words.some((word) => word !== "");
  const typeText = (i) => {
    const from = report.type.words[report.type.rows[i]], to = series.to.words[series.to.rows[i]];
    return several || to === "" || to === from ? from : from === "" ? to : `${from} → ${to}`;
  };
  const stateText = (i) => (series.state[i] < 0 ? "" : report.states[series.state[i]][0]);
  const columns = [
    {key: "worst", title: "", width: 1.3, goes: 0, help: "Worst first"},
    {key: "name", title: "Tensor", goes: 0, left: true, value: (i) => report.names[i]},
    report.command !== "convert" && report.command !== "loss" &&
      {key: "state", title: "Verdict", width: 7.5, goes: 2, left: true, value: stateText, text: stateText},
    report.command === "verify" && isSaid(series.remark) &&
      {key: "remark", title: "How", width: 20, goes: 1, left: true, value: (i) => series.remark.words[series.remark.rows[i]],
       text: (i) => series.remark.words[series.remark.rows[i]]},
    report.command !== "verify" && {key: "type", title: "Type", width: several ? 7 : 12.5, goes: several ? 8 : 4, left: true, value: typeText, text: typeText},
    isSaid(report.shape) && {key: "shape", title: "Shape", width: 8.5, goes: 5, left: true, value: (i) => report.elements[i],
     text: (i) => report.shape.words[report.shape.rows[i]]},
  ].filter(Boolean);
  if (several) {
    report.series.forEach((one, place) => columns.push({
      key: "snr" + place, title: one.title, width: Math.max(4.2, 0.55 * one.title.length), goes: place === report.current ? 0 : 3,
      help: "SNR in dB as " + one.title, value: (i) => (one.figures.snr_db || [])[i],
      text: (i) => (one.state[i] < 0 ? "" : (report.states[one.state[i]][1] === 0 ? "✗ " : "") + decibelText((one.figures.snr_db || [])[i]))}));
  }
  columns.push(
    !several && figure("snr_db", "SNR dB", 4.2, 0, (value, i) => (value === null && series.state[i] >= 3 ? "" : decibelText(value))),
    figure("gain_over_plain_db", "Gained", 4, 6, (value) => (value === null ? "" : decibelText(value)), "dB over the plain rule's scales"),
    report.command !== "verify" && figure("different", "Differ", 5, 1, share, "Values that differ"),
    figure("to_limit", "At limit", 4.6, 2, count), figure("to_infinity", "→ Inf", 4.6, 1, count),
    figure("to_nan", "→ NaN", 4.6, 1, count), figure("nan_lost", "NaN lost", 4.8, 1, count),
    figure("wrapped", "Wrapped", 4.8, 1, count), figure("to_zero", "→ zero", 4.6, 3, share),
    figure("to_subnormal", "Subnormal", 5.2, 6, share),
    figure("max_abs_error", "Max error", 5.4, 5, (value) => (value === null ? "" : magnitudeText(value)), "The largest absolute error"),
    figure("bytes_after", "Size", 5, 7, (value) => (value === null ? "" : bytesText(value))));
  return columns.filter(Boolean);
}

class TensorTable {
  constructor(report, open) {
    this.report = report;
    this.open = open;
    this.filter = {words: [], kind: -1, layer: null, states: null};
    this.sort = {key: "worst", down: false};
    this.chosen = -1;  // a row of the view
    this.view = [];    // the tensors that are shown, in order
    this.pool = [];
    this.lower = null;
    this.rows = byId("rows");
    this.rows.addEventListener("scroll", () => this.draw(), {passive: true});
    this.rows.addEventListener("keydown", (event) => this.key(event));
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) { this.choose(row.place); this.open(this.view[row.place]); }
    });
    new ResizeObserver(() => { this.layOut(); this.draw(true); }).observe(byId("table"));
  }

  // The series has changed, or what of it is shown.
  update() {
    const {report, filter} = this, series = report.series[report.current];
    this.columns = columnsOf(report, series);
    const {kind, layer} = report.places;
    if (filter.words.length > 0 && !this.lower) this.lower = report.names.map((name) => name.toLowerCase());
    const view = [];
    for (let i = 0; i < report.names.length; ++i) {
      if (series.state[i] < 0) continue;
      if (filter.states && !filter.states.has(series.state[i])) continue;
      if (filter.kind >= 0 && kind[i] !== filter.kind) continue;
      if (filter.layer !== null && layer[i] !== filter.layer) continue;
      if (!filter.words.every((word) => this.lower[i].includes(word))) continue;
      view.push(i);
    }
    this.view = this.sorted(view, series);
    this.chosen = -1;
    this.rows.scrollTop = 0;
    this.layOut();
    this.draw(true);
    byId("none").hidden = view.length > 0;
    const some = view.length, all = series.state.reduce((sum, state) => sum + (state >= 0), 0);
    const number = (n) => n.toLocaleString("en");
    const others = report.names.length - all;
    byId("count").textContent = (some === all ? `${number(all)} tensor${all === 1 ? "" : "s"}` : `${number(some)} of ${number(all)}`)
      + (others > 0 ? `; ${number(others)} are not cast to ${series.title}` : "");
  }

  sorted(view, series) {
    const {key, down} = this.sort;
    if (key === "worst") {
      const snr = series.figures.snr_db;
      const of = (i) => (snr && typeof snr[i] === "number" ? snr[i] : -Infinity);
      view.sort((a, b) => series.state[a] - series.state[b] || (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : a - b));
      return down ? view.reverse() : view;
    }
    const {value} = this.columns.find((column) => column.key === key) || this.columns[1];
    const known = (x) => x !== null && x !== undefined && x !== "";
    const order = down ? -1 : 1;
    return view.sort((a, b) => {
      const x = value(a), y = value(b);
      if (!known(x) || !known(y)) return known(y) - known(x) || a - b;
      return x < y ? -order : x > y ? order : a - b;
    });
  }

  // Which columns there is room for, and how high all rows are together.
  layOut() {
    if (!this.columns) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const room = byId("table").clientWidth / rem - 2.2, gap = 0.9, leastName = 13;
    let shown = this.columns;
    const width = () => shown.reduce((sum, column) => sum + (column.width || leastName) + gap, 0);
    while (width() > room && shown.some((column) => column.goes > 0)) {
      const last = shown.reduce((worst, column) => (column.goes >= worst.goes ? column : worst));
      shown = shown.filter((column) => column !== last);
    }
    this.shown = shown;
    byId("table").style.setProperty("--columns", shown.map((column) => (column.width ? column.width + "rem" : "minmax(0, 1fr)")).join(" "));
    byId("titles").replaceChildren(...shown.map((column) => make("button", {
      type: "button", class: column.left ? "left" : null, role: "columnheader", title: column.help || column.title,
      "aria-label": column.title || column.help,
      "aria-sort": this.sort.key !== column.key ? "none" : this.sort.down ? "descending" : "ascending",
      onclick: () => this.sortBy(column)},
      this.titleOf(column))));
    this.height = 2 * rem;
    byId("space").style.height = this.view.length * this.height + "px";
    byId("table").style.setProperty("--all-rows", this.view.length * this.height + "px");
    byId("table").style.setProperty("--scrollbar", this.rows.offsetWidth - this.rows.clientWidth + "px");
    this.rows.parentNode.setAttribute("aria-rowcount", this.view.length + 1);
  }

  titleOf({key, title}) {
    const {sort} = this;
    if (key === "name" && sort.key === "worst") return title + (sort.down ? ", best first" : ", worst first");
    return title + (sort.key === key && title ? (sort.down ? " ↓" : " ↑") : "");
  }

  sortBy(column) {
    const again = this.sort.key === column.key;
    // Figures are looked at for what is large, SNR for what is small.
    const first = !(column.left || column.key === "worst" || column.key.startsWith("snr"));
    this.sort = {key: column.key, down: again ? !this.sort.down : first};
    this.update();
  }

  draw(anew) {
    if (!this.shown) return;
    const first = Math.max(0, Math.floor(this.rows.scrollTop / this.height) - 6);
    const last = Math.min(this.view.length, first + Math.ceil(this.rows.clientHeight / this.height) + 12);
    while (this.pool.length < last - first) {
      const row = make("div", {class: "row", role: "row"});
      row.place = -1;
      this.pool.push(row);
      byId("space").append(row);
    }
    const free = [];
    const drawn = new Set();
    for (const row of this.pool) {
      if (anew || row.place < first || row.place >= last) free.push(row);
      else drawn.add(row.place);
    }
    for (let place = first; place < last; ++place) {
      if (!drawn.has(place)) this.fill(free.pop(), place);
    }
    for (const row of free) { row.place = -1; row.hidden = true; }
    for (const row of this.pool) row.classList.toggle("chosen", row.place === this.chosen && row.place >= 0);
  }

  fill(row, place) {
    const i = this.view[place], {report} = this, series = report.series[report.current];
    row.place = place;
    row.hidden = false;
    row.id = "row-" + place;
    row.style.top = place * this.height + "px";
    row.setAttribute("aria-rowindex", place + 2);
    const state = report.states[series.state[i]];
    row.replaceChildren(...this.shown.map((column) => {
      if (column.key === "worst") {
        const shown = mark(state[1]);
        shown.title = state[0];
        shown.removeAttribute("aria-hidden");
        shown.setAttribute("aria-label", state[0]);
        return shown;
      }
      if (column.key === "name") return make("span", {class: "name", title: report.names[i]}, ...nameParts(report.names[i]));
      const text = column.text(i);
      return make("span", {class: column.left ? "left" : null, title: column.left ? text : null}, text);
    }));
  }

  choose(place) {
    this.chosen = Math.max(0, Math.min(this.view.length - 1, place));
    const top = this.chosen * this.height, {rows} = this;
    if (top < rows.scrollTop) rows.scrollTop = top;
    if (top + this.height > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + this.height - rows.clientHeight;
    this.draw();
    rows.setAttribute("aria-activedescendant", "row-" + this.chosen);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.rows.clientHeight / this.height) - 1);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    if (event.key in steps && this.view.length > 0) {
      const from = this.chosen < 0 ? (steps[event.key] > 0 ? -1 : 0) : this.chosen;
      this.choose(Math.max(0, Math.min(this.view.length - 1, from + steps[event.key])));
      if (byId("detail").childElementCount > 0) this.open(this.view[this.chosen]);
    } else if (event.key === "Enter" && this.chosen >= 0) {
      this.open(this.view[this.chosen]);
    } else {
      return;
    }
    event.preventDefault();
  }
}
