// All that is known of one tensor: its figures, how its magnitudes lie, what other types would lose.

function tableOf(columns, rows) {
  return make("table", {},
    make("thead", {}, make("tr", {}, ...columns.map((text) => make("th", {scope: "col"}, text)))),
    make("tbody", {}, ...rows.map((row) => make("tr", {class: row.own ? "own" : null},
      ...row.cells.map((text) => make("td", {}, text))))));
}

function figuresOfTensor(report, series, i) {
  const value = (key) => (series.figures[key] ? series.figures[key][i] : null);
  const list = [];
  const add = (title, text) => list.push(make("div", {}, make("dt", {}, title), make("dd", {}, text)));
  const elements = report.elements[i];
  const known = (key) => value(key) !== null && value(key) !== undefined;
  if (known("snr_db")) add("SNR", decibelText(value("snr_db")) + " dB");
  if (known("gain_over_plain_db")) add("Gained by the search", decibelText(value("gain_over_plain_db")) + " dB");
  if (elements > 0) add("Values", countText(elements));
  if (report.bytes[i] > 0 || known("bytes_after")) {
    const after = value("bytes_after");
    add("Size", bytesText(report.bytes[i]) + (known("bytes_after") && after !== report.bytes[i] ? " → " + bytesText(after) : ""));
  }
  if (known("different") && report.command !== "verify") add("Values that differ", countText(value("different")));
  const counts = [["to_limit", "At the limit"], ["to_infinity", "Became Inf"], ["to_nan", "Became NaN"], ["nan_lost", "NaN lost"],
                  ["wrapped", "Wrapped around"], ["to_zero", "Became zero"], ["to_subnormal", "Subnormal"]];
  for (const [key, title] of counts) {
    if (value(key) > 0) add(title, `${countText(value(key))} (${shareText(value(key), elements)})`);
  }
  for (const [key, title] of [["max_abs_error", "Largest error"], ["rmse", "RMS error"], ["amax", "Largest magnitude"],
                              ["smallest_nonzero", "Smallest above zero"]]) {
    if (known(key)) add(title, value(key) === 0 ? "none" : magnitudeText(value(key)));
  }
  return list;
}

// What the types of a loss report were measured to lose of this tensor.
function measuredRows(report, i) {
  return report.series.flatMap((series, place) => {
    if (series.state[i] < 0) return [];
    const figure = (key) => (series.figures[key] ? series.figures[key][i] || 0 : 0);
    const lost = figure("to_limit") + figure("to_infinity") + figure("to_nan") + figure("nan_lost") + figure("wrapped");
    const elements = report.elements[i];
    return [{own: place === report.current,
             cells: [series.title, decibelText(series.figures.snr_db ? series.figures.snr_db[i] : null), lost === 0 ? "·" : countText(lost),
                     shareText(figure("to_zero"), elements), shareText(figure("to_subnormal"), elements)]}];
  });
}

function estimatedRows(report, counted, amax, own) {
  const text = (share) => (share <= 0 ? "·" : share < 0.0005 ? "<0.1 %" : (100 * share).toFixed(1) + " %");
  return report.others.map(([name, , limits]) => {
    const [zero, subnormal, , beyond] = sharesOf(counted, limits, amax);
    return {own: name === own, cells: [name, text(zero), text(subnormal), text(beyond)]};
  });
}

function drawDetail(report, i, close) {
  const series = report.series[report.current], detail = byId("detail");
  const state = report.states[series.state[i]];
  const from = report.type.words[report.type.rows[i]], to = series.to.words[series.to.rows[i]];
  const shape = report.shape.words[report.shape.rows[i]], remark = series.remark.words[series.remark.rows[i]];
  const what = [from && to && from !== to ? `${from} → ${to}` : from || to, shape, remark].filter(Boolean).join("   ·   ");
  const parts = [
    make("div", {class: "head"},
      make("p", {class: "name"}, make("bdi", {}, report.names[i] || "\"\"")),
      make("button", {class: "close", type: "button", "aria-label": "Close", onclick: close}, "✕")),
    make("p", {class: "what " + TONES[state[1]]}, mark(state[1]), " " + state[0] + (what ? "   ·   " + what : "")),
    make("dl", {}, ...figuresOfTensor(report, series, i))];

  const counted = exponentsOf(report, i);
  const amax = series.figures.amax ? series.figures.amax[i] : null;
  const target = report.targets.find(([name]) => name === to);
  if (counted && counted.counts.length > 0) {
    parts.push(make("h3", {}, "Magnitudes" + (target ? ", and what " + to + " holds" : "")), histogramOf(counted, target, amax));
    const whole = counted.sampled >= report.elements[i];
    if (target && target[1]) {
      parts.push(make("p", {class: "small"}, "Drawn as if one scale served the whole tensor; each cell has its own, which fits it better."));
    } else if (target) {
      const [zero, subnormal, normal, beyond] = sharesOf(counted, target[2], amax);
      const share = (kind, part, text) => part > 0 && make("li", {class: kind}, `${text} ${part < 0.0005 ? "<0.1" : (100 * part).toFixed(1)} %`);
      parts.push(make("ul", {class: "shares"}, ...[share("in", normal, "normal"), share("sub", subnormal, "subnormal"),
        share("out", zero, "→ zero"), share("out", beyond, "beyond"), share("zero", counted.zeros / counted.sampled, "zero already")].filter(Boolean)));
    }
    parts.push(make("p", {class: "small"}, (whole ? "All values are counted" : `From a sample of ${countText(counted.sampled)} values; the figures above are of all`)
      + (counted.notFinite > 0 ? `; ${countText(counted.notFinite)} are Inf or NaN.` : ".")));
  } else if (report.exponents && !counted && report.names.length > report.histograms) {
    parts.push(make("p", {class: "small"}, `Histograms are in this page for the ${report.histograms.toLocaleString("en")} worst tensors; a .json report has all.`));
  }
  if (report.series.length > 1) {
    parts.push(make("h3", {}, "In each type, measured"), tableOf(["type", "SNR dB", "lost", "→ zero", "subnormal"], measuredRows(report, i)));
  } else if (counted && counted.counts.length > 0) {
    parts.push(make("h3", {}, "In other types, without a scale"),
      tableOf(["type", "→ zero", "subnormal", "beyond"], estimatedRows(report, counted, amax, to)),
      make("p", {class: "small"}, "From the histogram, by binades; tensorcast loss measures them, and scaled formats."));
  }
  detail.replaceChildren(...parts);
  detail.scrollTop = 0;
}
