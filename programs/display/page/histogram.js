// How a tensor's magnitudes lie beside what a type can hold.

// What a type makes of a binade e, [2^e, 2^(e+1)), by its limits [least, least normal, greatest]: 0 becomes
// zero, 1 is subnormal, 2 normal, 3 beyond the greatest. `shift`: what values are multiplied by, as a power.
function zonesOf(limits, shift) {
  const [least, normal, greatest] = limits.map(Math.log2);
  return {zero: least - 1 - shift, subnormal: normal - shift, limit: greatest - shift};
}

function zoneOf(exponent, zones) {
  if (exponent + 1 <= zones.zero + 1e-9) return 0;
  if (exponent + 1 <= zones.subnormal + 1e-9) return 1;
  return exponent < zones.limit ? 2 : 3;
}

// The shares of all values that go to zero, are subnormal, and lie beyond the limit, as far as binades tell.
function sharesOf(counted, limits, amax) {
  const zones = zonesOf(limits, 0), shares = [0, 0, 0, 0];
  counted.counts.forEach((n, k) => {
    const exponent = counted.first + k;
    let beyond = 0;  // of the binade that the limit lies in
    if (exponent === Math.floor(zones.limit) && amax > limits[2]) beyond = 2 - limits[2] / 2 ** exponent;
    const zone = zoneOf(exponent, zones);
    shares[zone] += n * (1 - beyond);
    shares[3] += n * beyond;
  });
  // The largest value may not be in the sample: less than one of those that are.
  if (shares[3] === 0 && amax > limits[2]) shares[3] = 0.5;
  return shares.map((n) => n / counted.sampled);
}

function exponentsOf(report, row) {
  const list = report.exponents && report.exponents[row];
  if (!list) return null;
  return {sampled: list[0], zeros: list[1], notFinite: list[2], first: list[3], counts: list.slice(4)};
}

// The drawing: bars for binades, and the target's zones behind them. `target`: [name, is scaled, limits]. The
// binade of the largest value has one also if the sample has none of it.
function histogramOf(counted, target, amax) {
  const width = 480, height = 190, top = 22, bottom = 22;
  const shift = target && target[1] && amax > 0 ? Math.log2(target[2][2]) - Math.log2(amax) : 0;
  const zones = target ? zonesOf(target[2], shift) : null;
  const counts = [...counted.counts], largest = amax > 0 && amax < Infinity ? Math.floor(Math.log2(amax)) : -Infinity;
  while (counts.length <= largest - counted.first) counts.push(0);
  let low = counted.first, high = counted.first + counts.length;
  if (zones) {
    low = Math.max(Math.min(low, Math.floor(zones.zero) - 2), low - 24);
    high = Math.min(Math.max(high, Math.ceil(zones.limit) + 1), high + 12);
  }
  const x = (exponent) => (exponent - low) / (high - low) * width;
  const most = Math.max(...counts);
  const y = (n) => height - bottom - Math.max(1.5, n / most * (height - top - bottom));
  const label = `Histogram of exponents, from ${powerText(counted.first)} to ${powerText(counted.first + counts.length)}`;
  const drawing = make("svg", {class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
  const clamp = (at) => Math.max(0, Math.min(width, x(at)));
  const zone = (kind, from, to, text) => {
    const left = clamp(from), right = clamp(to);
    if (right - left < 0.5) return;
    if (kind) drawing.append(make("rect", {class: kind, x: left, y: top - 4, width: right - left, height: height - top - bottom + 4}));
    if (right - left > 7 * text.length) {
      drawing.append(make("text", {x: (left + right) / 2, y: 11, "text-anchor": "middle"}, text));
    }
  };
  if (zones) {
    zone("zone-out", low, zones.zero, "→ zero");
    zone("zone-sub", zones.zero, zones.subnormal, "subnormal");
    zone(null, zones.subnormal, zones.limit, "normal");
    zone("zone-out", zones.limit, high, "beyond");
  }
  counts.forEach((n, k) => {
    const exponent = counted.first + k;
    if (n === 0 && exponent !== largest) return;
    const kind = zones ? ["out", "sub", "in", "out"][zoneOf(exponent, zones)] : "in";
    const bar = make("rect", {class: kind, x: x(exponent) + 0.6, width: Math.max(1, x(exponent + 1) - x(exponent) - 1.2),
                              y: y(n), height: height - bottom - y(n)});
    bar.append(make("title", {}, `${powerText(exponent)} to ${powerText(exponent + 1)}: `
      + (n === 0 ? "the largest value, not in the sample" : shareText(n, counted.sampled))));
    drawing.append(bar);
  });
  drawing.append(make("line", {class: "axis", x1: 0, x2: width, y1: height - bottom, y2: height - bottom}));
  const step = [1, 2, 4, 5, 10, 20, 50, 100, 200].find((n) => (high - low) / n <= 9) || 500;
  for (let exponent = Math.ceil(low / step) * step; exponent <= high; exponent += step) {
    const at = x(exponent);
    if (at < 12 || at > width - 12) continue;
    drawing.append(make("line", {class: "axis", x1: at, x2: at, y1: height - bottom, y2: height - bottom + 4}));
    drawing.append(make("text", {x: at, y: height - 5, "text-anchor": "middle"}, "2",
      make("tspan", {dy: -4, "font-size": "9"}, String(exponent).replace("-", "−"))));
  }
  return drawing;
}
