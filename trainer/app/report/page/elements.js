'use strict';
// Draws the report from its data. Every text goes in as a text node: what a policy wrote stays text.

const data = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');
const runCount = data.groups.reduce((sum, group) => sum + group.runs.length, 0);
const hidden = new Set();  // groups switched off
const redraws = [];        // of what is drawn to its width, or shows groups

// ---- elements and numbers

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(9).filter(child => child !== null && child !== undefined));
  return node;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

function number(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1000) return Math.round(value).toLocaleString('en-US');
  if (size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
function withUnit(value, unit) {
  if (unit === '%') return (100 * value).toFixed(1) + ' %';
  if (unit === '×') return value.toFixed(2) + '×';
  return unit ? number(value) + ' ' + unit : number(value);
}
function duration(seconds) {
  if (seconds < 90) return number(seconds) + ' s';
  if (seconds < 5400) return (seconds / 60).toFixed(1) + ' min';
  return (seconds / 3600).toFixed(1) + ' h';
}

const color = index => `var(--c${index % 8})`;
const dash = index => ['', '6 3', '2 3'][Math.floor(index / 8) % 3];
const verdictColors = { PASS: 2, FAIL_INCORRECT: 1, FAIL_COMPILE: 4, FAIL_PARSE: 7, FAIL_RUNTIME: 3, FAIL_TIMEOUT: 6, HACK: 5, SUSPECT: 5 };
const timeColors = { generate: 0, judge: 4, learn: 2, 'cold start': 3, evaluate: 6, 'start, corpus': 1, 'rest of a step': 5 };
const partColor = part => color(verdictColors[part] ?? timeColors[part] ?? 7);

const swatch = index => svg('svg', { class: 'swatch', viewBox: '0 0 22 8', 'aria-hidden': 'true' },
  svg('line', { x1: 0, x2: 22, y1: 4, y2: 4, stroke: color(index), 'stroke-dasharray': dash(index) }));
const groupName = index => [data.groups.length > 1 ? swatch(index) : null, data.groups.length > 1 ? ' ' : '', data.groups[index].label];

function section(title, ...children) {
  main.append(el('h2', {}, title), ...children.flat(9).filter(Boolean));
}

// A table that may be wider than the screen; its right edge fades while there is more of it.
function scroll(table) {
  const inner = el('div', { class: 'scroll', tabindex: 0 }, table), outer = el('div', { class: 'scroll-box' }, inner);
  const look = () => outer.classList.toggle('more', inner.scrollLeft + inner.clientWidth < inner.scrollWidth - 2);
  inner.addEventListener('scroll', look);
  redraws.push(look);
  return outer;
}

// Task names may break behind an underscore, nowhere else.
const brokenName = name => el('code', {}, name.split(/(?<=_)/).flatMap(part => [part, el('wbr', {})]));
