// Reads the report out of the page and shows it: first what was done and what it came to, then the rest.

async function readReport() {
  const packed = Uint8Array.from(atob(byId("data").textContent.trim()), (c) => c.charCodeAt(0));
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const report = await new Response(text).json();
  report.current = 0;
  return report;
}

function drawHead(report) {
  document.title = `${report.command}: ${report.from}${report.to ? " → " + report.to : ""}`;
  byId("command").textContent = report.command;
  byId("version").textContent = "tensorcast " + report.version;
  const title = byId("title");
  title.append(make("bdi", {}, report.from || report.to));
  if (report.from && report.to) {
    title.append(make("span", {class: "arrow"}, report.command === "diff" ? "and" : "→"), make("wbr"), make("bdi", {}, report.to));
  }
  byId("facts").append(...report.facts.map(([label, value, remark]) => make("div", {},
    make("dt", {}, label), make("dd", {class: "value"}, value), make("dd", {class: "remark", title: remark}, make("bdi", {}, remark)))));
  byId("notes").append(...report.notes.map(([tone, text, command]) => make("li", {class: TONES[tone]},
    mark(tone), " ", make("bdi", {}, text), command ? copied(command) : null)));
  byId("tables").append(...report.tables.map(drawTable));
}

function drawTable(table) {
  const isName = (column) => column > 0 && /tensor$/.test(table.columns[column]);
  const cells = (tag, texts) => texts.map((text, k) => make(tag, {class: isName(k) ? "long" : null, title: isName(k) ? text : null}, text));
  return make("div", {}, make("h2", {}, table.title), make("div", {class: "scroll", tabindex: 0, "aria-label": table.title},
    make("table", {}, make("thead", {}, make("tr", {}, ...cells("th", table.columns))),
      make("tbody", {}, ...table.rows.map((row) => make("tr", {}, ...cells("td", row)))))));
}

function copied(text) {
  const button = make("button", {type: "button"}, "Copy");
  const code = make("code", {}, text);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {  // where a page from a file may not: it is selected, to be copied by hand
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return make("div", {class: "copy"}, code, button);
}

function followTheme() {
  const names = {"": "Theme: system", light: "Theme: light", dark: "Theme: dark"};
  const order = ["", "light", "dark"], button = byId("theme"), root = document.documentElement;
  const show = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    button.textContent = names[theme];
    dispatchEvent(new Event("theme"));
  };
  button.addEventListener("click", () => show(order[(order.indexOf(root.dataset.theme || "") + 1) % 3]));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("theme")));
  const asked = new URLSearchParams(location.hash.slice(1)).get("theme");  // report.html#theme=dark
  show(order.includes(asked) ? asked : "");
}

function drawFilters(report, table) {
  const filter = table.filter;
  const kinds = byId("kind");
  const options = report.places.kinds.map((kind, number) => ({...kind, number})).filter((kind) => kind.tensors > 1 || report.places.kinds.length < 200).slice(0, 1000);
  kinds.append(make("option", {value: -1}, "All kinds"),
    ...options.map((kind) => make("option", {value: kind.number}, `${kind.text} (${kind.tensors})`)));
  kinds.addEventListener("change", () => { filter.kind = Number(kinds.value); filter.layer = null; table.update(); });
  const search = byId("search");
  let later = 0;
  search.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      filter.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      table.update();
    }, 60);
  });
}

// A button for each verdict that there is, which hides all others while it is pressed.
function drawStates(report, table) {
  const counts = report.states.map(() => 0);
  for (const state of report.series[report.current].state) if (state >= 0) ++counts[state];
  const filter = table.filter, buttons = [];
  report.states.forEach(([name, tone], state) => {
    if (counts[state] === 0) return;
    const button = make("button", {type: "button", class: TONES[tone], "aria-pressed": "false"},
      mark(tone), ` ${name} `, make("b", {}, countText(counts[state])));
    button.addEventListener("click", () => {
      const states = filter.states || new Set();
      if (!states.delete(state)) states.add(state);
      filter.states = states.size > 0 ? states : null;
      button.setAttribute("aria-pressed", String(states.has(state)));
      table.update();
    });
    buttons.push(button);
  });
  filter.states = null;
  byId("states").replaceChildren(...(buttons.length > 1 ? buttons : []));
}

function drawRest(report) {
  report.places = placesOf(report.names);
  let open = -1;
  const close = () => {
    open = -1;
    byId("detail").replaceChildren();
    byId("detail").parentNode.classList.remove("open");
  };
  const show = (i) => {
    open = i;
    byId("detail").parentNode.classList.add("open");
    drawDetail(report, i, close);
  };
  const table = new TensorTable(report, show);
  let by = "snr";
  const showCell = (kind, layer) => {
    byId("search").value = "";
    byId("kind").value = String(kind);
    Object.assign(table.filter, {words: [], kind, layer: layer >= 0 ? layer : null, states: null});
    drawStates(report, table);
    table.update();
    if (layer >= 0) byId("count").textContent += `, layer ${layer}`;
    byId("tensors").scrollIntoView({behavior: "smooth"});
    byId("rows").focus({preventScroll: true});
    if (table.view.length > 0) { table.choose(0); if (table.view.length === 1) show(table.view[0]); }
  };
  const drawMap = () => drawHeatMap(report, report.series[report.current], by, showCell);
  const ways = [["snr", "worst SNR"], ["gone", "values lost"]].map(([way, text]) => {
    const button = make("button", {type: "button", "aria-pressed": String(way === by)}, text);
    button.addEventListener("click", () => {
      by = way;
      ways.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      drawMap();
    });
    return button;
  });
  byId("heat-by").append(...ways);
  drawFilters(report, table);
  const redraw = () => {
    drawStates(report, table);
    table.update();
    drawMap();
    if (open >= 0 && report.series[report.current].state[open] >= 0) show(open); else close();
  };
  for (const choice of document.querySelectorAll(".series-choice")) {
    choice.parentNode.hidden = report.series.length < 2;
    choice.append(...report.series.map((series, place) => make("option", {value: place}, series.title)));
    choice.addEventListener("change", () => {
      report.current = Number(choice.value);
      document.querySelectorAll(".series-choice").forEach((other) => { other.value = choice.value; });
      redraw();
    });
  }
  byId("tensors").hidden = report.names.length === 0;
  redraw();
  addEventListener("theme", drawMap);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && open >= 0) { close(); byId("rows").focus({preventScroll: true}); }
    if (event.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) {
      byId("search").focus();
      event.preventDefault();
    }
  });
  const asked = new URLSearchParams(location.hash.slice(1)).get("tensor");  // report.html#tensor=NAME
  const place = asked === null ? -1 : table.view.indexOf(report.names.indexOf(asked));
  if (place >= 0) { table.choose(place); show(table.view[place]); byId("tensors").scrollIntoView(); }
}

async function start() {
  followTheme();
  try {
    const report = await readReport();
    drawHead(report);
    requestAnimationFrame(() => setTimeout(() => {  // when this is painted
      performance.mark("head");
      try {
        drawRest(report);
      } finally {
        performance.mark("rest");
        document.documentElement.dataset.ready = "true";
      }
    }));
  } catch (error) {
    byId("problem").hidden = false;
    byId("problem").textContent = typeof DecompressionStream === "undefined"
      ? "This browser cannot read the report's data: it takes one of 2023 or later."
      : "The report's data cannot be read: the file may have been cut short. (" + error.message + ")";
  }
}

start();
