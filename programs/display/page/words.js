// Figures in the words that the tool's own tables use, and elements of the page. Texts that came from
// a file get into the page as text alone: nothing here makes markup of them.

const byId = (id) => document.getElementById(id);

// An element with attributes and children; a string is text.
function make(tag, attributes, ...children) {
  const svg = ["svg", "rect", "line", "text", "tspan", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag)
                      : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function withPrefix(value, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let place = 0;
  while (value >= 999.95 && place + 1 < prefixes.length) { value /= 1000; ++place; }
  return value.toFixed(1) + " " + prefixes[place] + unit;
}
const countText = (n) => (n < 10000 ? String(n) : withPrefix(n, ""));
const bytesText = (n) => (n < 1000 ? n + " B" : withPrefix(n, "B"));

// One digit behind the point; of two that are as near the even one, as the tool's tables have it.
function tenths(value) {
  const tie = Number.isInteger(value * 4) && !Number.isInteger(value * 2);
  return tie ? (2 * Math.round(value * 5) / 10).toFixed(1) : value.toFixed(1);
}

function shareText(n, whole) {
  if (n === 0) return "·";
  const percent = 100 * n / whole;
  if (percent < 0.05) return "<0.1 %";
  if (n < whole && percent >= 99.95) return ">99.9 %";
  return tenths(percent) + " %";
}

function decibelText(value) {
  if (value === null || value === undefined) return "–";
  if (value === "?") return "?";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  return Math.abs(value) < 0.05 ? "0.0" : tenths(value).replace("-", "−");
}

function magnitudeText(value) {
  if (value === null || value === undefined || value === "?") return "–";
  if (value === 0) return "·";
  if (value >= 1000 && value < 1e6) return value.toFixed(0);
  const digits = Number(value.toPrecision(3));
  const text = digits < 1e-4 || digits >= 1e6 ? digits.toExponential() : String(digits);
  return text.replace("e-", "e−");
}

// 2 to a power, with the power raised.
const powerText = (n) => "2" + String(n).replace(/./g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] || "⁻");

// A name of which neither the number of its layer nor the end is cut off, which tell it from its kin.
function nameParts(name) {
  if (name.trim() === "") return [make("span", {class: "kept"}, `"${name}"`)];
  const parts = name.split(".");
  let end = parts.pop();
  while (parts.length > 0 && end.length + parts[parts.length - 1].length < 16) end = parts.pop() + "." + end;
  const layer = parts.findIndex((part) => /^\d{1,5}$/.test(part));
  const part = (kind, some) => some.length > 0 && make("bdi", {class: kind}, some.join(".") + ".");
  return [part("front", layer < 0 ? [] : parts.slice(0, layer)), part("kept", layer < 0 ? [] : [parts[layer]]),
          part("middle", parts.slice(layer + 1)), make("bdi", {class: "kept"}, end)].filter(Boolean);
}

const TONES = ["bad", "poor", "good", "plain"];
const MARKS = ["✗", "!", "✓", "·"];
const mark = (tone) => make("span", {class: "tone " + TONES[tone], "aria-hidden": "true"}, MARKS[tone]);
