// An element is made from names and text alone: nothing here ever reads text as markup.

const SVG = "http://www.w3.org/2000/svg";

function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return element;
}

function badge(text, kind, title) {
  return h("span", { class: `badge ${kind}`, title }, text);
}

function island(id) {
  const element = document.getElementById(id);
  return element ? JSON.parse(element.textContent) : null;
}

const index = island("index");
const stories = new Map();

/** What is known of a trial, read from its island when it is first wanted. */
function story(number) {
  if (!stories.has(number)) {
    const told = island(`story-${number}`);
    if (told === null) return null; // the file is still being read
    stories.set(number, told);
  }
  return stories.get(number);
}

function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function usd(value) {
  return value === undefined || value === null ? "unknown" : `$${value.toFixed(value >= 1 ? 2 : 4)}`;
}
