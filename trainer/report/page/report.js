'use strict';
// Draws the report from its data. Every text goes in as a text node: what a policy wrote stays text.

const data = JSON.parse(document.getElementById('data').textContent);
const main = document.getElementById('main');
const hidden = new Set();  // groups switched off
const redraws = [];        // of what shows groups

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
const timeColors = { generate: 0, judge: 4, learn: 2, 'cold start': 3, evaluate: 6 };
const partColor = part => color(verdictColors[part] ?? timeColors[part] ?? 7);

const swatch = index => svg('svg', { class: 'swatch', viewBox: '0 0 22 8', 'aria-hidden': 'true' },
  svg('line', { x1: 0, x2: 22, y1: 4, y2: 4, stroke: color(index), 'stroke-dasharray': dash(index) }));
const groupName = index => [data.groups.length > 1 ? swatch(index) : null, data.groups.length > 1 ? ' ' : '', data.groups[index].label];

function section(title, ...children) {
  main.append(el('h2', {}, title), ...children.flat().filter(Boolean));
}
const scroll = table => el('div', { class: 'scroll', tabindex: 0 }, table);

// ---- axes

function niceStep(span, count) {
  const rough = span / count, power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 2.5, 5, 10].find(factor => factor * power >= rough * 0.999);
}
function ticks(low, high, count) {
  const step = niceStep(high - low || 1, count), found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) found.push(i * step);
  return found;
}
function range(values, unit) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  if (!(low <= high)) return [0, 1];
  if (unit === '%' || (low > 0 && low < 0.5 * high)) low = Math.min(low, 0);
  if (unit === '%') high = Math.min(1, high * 1.06), low = Math.max(low, 0);
  if (high - low < 1e-12) high = low + (Math.abs(low) || 1);
  const step = niceStep(high - low, 4);
  return [Math.floor(low / step + 1e-9) * step, unit === '%' ? Math.max(high, low + 0.01) : Math.ceil(high / step - 1e-9) * step];
}

const W = 380, H = 200, LEFT = 46, RIGHT = 10, TOP = 10, BOTTOM = 22;
function frame(xs, [low, high], unit) {
  const first = Math.min(...xs), last = Math.max(...xs, first + 1);
  const x = value => LEFT + (value - first) / (last - first) * (W - LEFT - RIGHT);
  const y = value => TOP + (high - value) / (high - low) * (H - TOP - BOTTOM);
  const picture = svg('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img' });
  const axis = v => unit === '%' ? String(Number((100 * v).toPrecision(3))) + ' %' : Math.abs(v) >= 1e4 ? number(v / 1000) + 'k' : number(v);
  for (const v of ticks(low, high, 4))
    picture.append(svg('line', { class: 'grid', x1: LEFT, x2: W - RIGHT, y1: y(v), y2: y(v) }),
      svg('text', { x: LEFT - 6, y: y(v) + 4, 'text-anchor': 'end' }, axis(v)));
  for (const v of ticks(first, last, 5))
    if (Number.isInteger(v)) picture.append(svg('text', { x: x(v), y: H - 6, 'text-anchor': 'middle' }, number(v)));
  picture.append(svg('line', { class: 'axis', x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }));
  return { picture, x, y };
}
const path = points => points.map(([x, y], i) => (i ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1)).join('');

// A line at the pointer's step and what was there; `rows(step)` gives what the box says.
function attachTip(figure, { picture, x }, xs, rows) {
  const cursor = svg('line', { class: 'cursor', y1: TOP, y2: H - BOTTOM, visibility: 'hidden' });
  const tip = el('div', { class: 'tip', hidden: true });
  picture.append(cursor);
  figure.append(tip);
  const hide = () => { tip.hidden = true; cursor.setAttribute('visibility', 'hidden'); };
  const show = event => {
    const box = picture.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * W;
    const nearest = xs.reduce((best, step) => Math.abs(x(step) - at) < Math.abs(x(best) - at) ? step : best, xs[0]);
    cursor.setAttribute('x1', x(nearest)); cursor.setAttribute('x2', x(nearest)); cursor.setAttribute('visibility', 'visible');
    tip.replaceChildren(...rows(nearest));
    tip.hidden = false;
    // Beside the line, on the side where there is more room.
    const outer = figure.getBoundingClientRect(), left = box.left - outer.left + x(nearest) / W * box.width;
    tip.style.top = (box.top - outer.top + 6) + 'px';
    tip.style.left = Math.max(4, left > outer.width / 2 ? left - tip.offsetWidth - 8 : Math.min(left + 8, outer.width - tip.offsetWidth - 4)) + 'px';
  };
  picture.addEventListener('pointermove', show);
  picture.addEventListener('pointerdown', show);
  picture.addEventListener('pointerleave', hide);
}

// ---- charts

function lineChart(chart) {
  const figure = el('figure', {}, el('figcaption', {}, chart.title, el('small', {}, chart.help || '\u00a0')));
  const draw = () => {
    figure.querySelectorAll('svg, .tip').forEach(node => node.remove());
    const lines = chart.lines.filter(line => !hidden.has(line.group));
    if (!lines.length) return;
    const xs = [...new Set(lines.flatMap(line => line.x))].sort((a, b) => a - b);
    // The band of what is never negative is not either.
    const floor = lines.every(line => line.y.every(v => v >= 0)) ? 0 : -Infinity;
    const place = frame(xs, range(lines.flatMap(line => [...line.y, ...(line.low || []).map(v => Math.max(v, floor)), ...(line.high || [])]), chart.unit), chart.unit);
    const { picture, x, y } = place, bound = v => Math.min(H - BOTTOM, Math.max(TOP, y(v)));
    for (const line of lines) {
      if (!line.low) continue;
      const there = line.x.map((step, i) => [x(step), bound(line.high[i])]);
      const back = line.x.map((step, i) => [x(step), bound(line.low[i])]).reverse();
      picture.append(svg('path', { class: 'band', d: path(there.concat(back)) + 'Z', fill: color(line.group) }));
    }
    for (const line of lines) {
      const stroke = { stroke: color(line.group) };
      if (line.raw) picture.append(svg('path', { class: 'raw', ...stroke, d: path(line.x.map((step, i) => [x(step), bound(line.raw[i])])) }));
      picture.append(svg('path', { class: 'mean', ...stroke, 'stroke-dasharray': dash(line.group), d: path(line.x.map((step, i) => [x(step), y(line.y[i])])) }));
      if (line.x.length < 12) line.x.forEach((step, i) => picture.append(svg('circle', { cx: x(step), cy: y(line.y[i]), r: 3, fill: color(line.group) })));
    }
    const last = lines.map(line => data.groups[line.group].label + ' ' + withUnit(line.y[line.y.length - 1], chart.unit));
    picture.setAttribute('aria-label', `${chart.title} over ${chart.x}s; last: ${last.join(', ')}`);
    figure.append(picture);
    attachTip(figure, place, xs, step => [el('div', { class: 'quiet' }, `${chart.x} ${number(step)}`), ...lines.flatMap(line => {
      const i = line.x.indexOf(step);
      if (i < 0) return [];
      const spread = line.high ? ` ± ${withUnit(line.high[i] - line.y[i], chart.unit)}` : '';
      return [el('div', {}, groupName(line.group), ': ', el('b', {}, withUnit(line.y[i], chart.unit)), spread)];
    })]);
  };
  draw();
  redraws.push(draw);
  return figure;
}

const partLegend = parts => el('ul', { class: 'parts' }, parts.map(part => el('li', {}, el('i', { style: `background:${partColor(part)}` }), part)));

function stackChart(parts, group, unit) {
  const xs = group.x, sums = xs.map(() => 0);
  const tops = group.values.map(values => values.map((value, i) => sums[i] += value));
  const place = frame(xs, unit === '%' ? [0, 1] : range([0, ...sums], unit), unit);
  const { picture, x, y } = place, wide = xs.length > 1 ? xs : [xs[0], xs[0] + 1], at = i => Math.min(i, xs.length - 1);
  picture.setAttribute('aria-label', `${data.groups[group.group].label}: ${parts.join(', ')} over steps`);
  tops.forEach((top, part) => {
    const there = wide.map((step, i) => [x(step), y(top[at(i)])]);
    const back = wide.map((step, i) => [x(step), y(part ? tops[part - 1][at(i)] : 0)]).reverse();
    picture.append(svg('path', { d: path(there.concat(back)) + 'Z', fill: partColor(parts[part]), opacity: 0.85 }));
  });
  const figure = el('figure', {}, data.groups.length > 1 ? el('figcaption', {}, groupName(group.group)) : null, picture);
  attachTip(figure, place, xs, step => [el('div', { class: 'quiet' }, `step ${number(step)}`), ...parts.map((part, i) =>
    el('div', {}, el('span', { style: `color:${partColor(part)}` }, '■ '), part, ': ', el('b', {}, withUnit(group.values[i][xs.indexOf(step)], unit)))).reverse()]);
  redraws.push(() => { figure.hidden = hidden.has(group.group); });
  return figure;
}

// ---- sections

function runsSection() {
  const row = (run, index) => el('tr', { 'data-group': index },
    el('td', { class: 'first' }, groupName(index)), el('td', { class: 'left' }, run.name), el('td', {}, run.seed),
    el('td', { class: 'left' }, run.state), el('td', {}, `${run.steps.toLocaleString('en-US')} of ${run.steps_planned || '?'}`), el('td', {}, duration(run.seconds)));
  const head = el('thead', {}, el('tr', {}, ['group', 'run'].map(name => el('th', { class: 'left' }, name)), el('th', {}, 'seed'), el('th', { class: 'left' }, 'state'), ['steps', 'time'].map(name => el('th', {}, name))));
  section('Runs', scroll(el('table', {}, head, el('tbody', {}, data.groups.map((group, index) => group.runs.map(run => row(run, index)))))));
}

function score(value, share) {
  if (!value) return ['–', ''];
  const show = v => share ? (100 * v).toFixed(1) : number(v);
  return [show(value[0]), value.length > 1 ? ` ± ${show(value[1])}` : ''];
}
function heldOutSection() {
  const { figures, rows } = data.held_out;
  if (!rows.length) return;
  const shares = figures.map(figure => figure !== 'reward' && figure !== 'speedup');
  const cell = (before, after, share) => {
    const [from, fromSpread] = score(before, share), [to, toSpread] = score(after, share);
    return el('td', { title: `before: ${from}${fromSpread}` }, el('small', {}, from, ' → '), el('b', {}, to), el('small', {}, toSpread));
  };
  const kinds = [...new Set(rows.map(row => row.answers))], several = data.groups.length > 1;
  const line = row => el('tr', { 'data-group': row.group }, el('td', { class: 'first' }, several ? groupName(row.group) : row.answers), figures.map((_, i) => cell(row.before[i], row.after[i], shares[i])));
  const body = kinds.map(kind => el('tbody', {}, several ? el('tr', { class: 'head' }, el('th', {}, kind), el('th', { colspan: figures.length })) : null, rows.filter(row => row.answers === kind).map(line)));
  const head = el('thead', {}, el('tr', {}, el('th', {}, ''), figures.map((figure, i) => el('th', {}, figure + (shares[i] ? ', %' : figure === 'speedup' ? ', ×' : '')))));
  section('Held-out tasks, before → after', el('p', { class: 'quiet' }, 'fast_p: share of all answers that are right and more than p times as fast as PyTorch eager. ±: standard deviation over seeds.'), scroll(el('table', {}, head, body)));
}

function curvesSections() {
  const names = [...new Set(data.charts.map(chart => chart.section))];
  names.forEach((name, i) => section(name, i ? null : el('p', { class: 'quiet' }, 'Lines: moving mean, over the seeds of a group; band: ± one standard deviation over seeds; faint: a single run unsmoothed.'),
    el('div', { class: 'charts' }, data.charts.filter(chart => chart.section === name).map(lineChart))));
}

function timeSection() {
  const { parts, groups } = data.time, totals = data.time_totals;
  if (!groups.length) return;
  const row = ({ group, values }) => {
    const sum = values.reduce((a, b) => a + b, 0);
    return el('tr', { 'data-group': group }, el('td', { class: 'first' }, groupName(group)), el('td', {}, duration(sum)),
      el('td', { class: 'left' }, el('div', { class: 'bar' }, values.map((value, i) => el('span', { style: `width:${100 * value / sum}%;background:${partColor(totals.parts[i])}` })))),
      values.map(value => el('td', {}, duration(value), el('small', {}, ` ${(100 * value / sum).toFixed(0)} %`))));
  };
  const head = el('thead', {}, el('tr', {}, ['', 'a run', 'share'].map(name => el('th', {}, name)), totals.parts.map(part => el('th', {}, part))));
  section('Where the time went', el('p', { class: 'quiet' }, 'judge: waiting for verdicts with nothing left to generate; what is judged while others still write costs no time. The making of the cold start’s examples is not in it.'),
    scroll(el('table', {}, head, el('tbody', {}, totals.groups.map(row)))), el('h3', {}, 'Seconds of a step'), partLegend(parts),
    el('div', { class: 'charts' }, groups.map(group => stackChart(parts, group, 's'))));
}

function verdictsSection() {
  const { parts, groups } = data.verdicts;
  if (parts.length && groups.length)
    section('Verdicts', partLegend(parts), el('div', { class: 'charts' }, groups.map(group => stackChart(parts, group, '%'))));
}

function dumbbell([before, after], index) {
  const x = share => 7 + 96 * share, picture = svg('svg', { class: 'dumbbell', viewBox: '0 0 110 14', 'aria-hidden': 'true' }, svg('line', { class: 'grid', x1: 7, x2: 103, y1: 7, y2: 7 }));
  if (before >= 0 && after >= 0) picture.append(svg('line', { x1: x(before), x2: x(after), y1: 7, y2: 7, stroke: color(index), 'stroke-width': 2 }));
  if (before >= 0) picture.append(svg('circle', { cx: x(before), cy: 7, r: 4, fill: 'var(--card)', stroke: color(index), 'stroke-width': 1.5 }));
  if (after >= 0) picture.append(svg('circle', { cx: x(after), cy: 7, r: 4.5, fill: color(index) }));
  return picture;
}
function tasksSection() {
  if (!data.tasks.length) return;
  const shown = share => share < 0 ? '–' : (100 * share).toFixed(0);
  const cell = (values, index) => !values ? [el('td', { 'data-group': index }, '–'), el('td', {}, '–')] : [
    el('td', { 'data-group': index }, dumbbell(values, index), el('small', {}, shown(values[0]), ' → '), el('b', {}, shown(values[1])), ' %'),
    el('td', {}, values[2] ? values[2].toFixed(2) + '×' : '–')];
  const mean = (row, f) => { const found = row.cells.filter(Boolean).map(f); return found.reduce((a, b) => a + b, 0) / (found.length || 1); };
  const change = row => mean(row, values => Math.max(0, values[1]) - Math.max(0, values[0]));
  const orders = { name: (a, b) => a.task < b.task ? -1 : 1, gain: (a, b) => change(b) - change(a), 'pass rate after': (a, b) => mean(b, v => v[1]) - mean(a, v => v[1]), speedup: (a, b) => mean(b, v => v[2]) - mean(a, v => v[2]) };
  const body = el('tbody', {});
  const draw = order => body.replaceChildren(...[...data.tasks].sort(orders[order]).map(row => el('tr', {}, el('td', { class: 'first' }, el('code', {}, row.task)), row.cells.map(cell))));
  draw('name');
  const head = el('thead', {}, el('tr', {}, el('th', {}, 'task'), data.groups.map((_, index) => [el('th', {}, groupName(index)), el('th', {}, 'speedup')])));
  section('Tasks, pass rate before → after', el('label', {}, 'sorted by ', el('select', { onchange: event => draw(event.target.value) }, Object.keys(orders).map(order => el('option', {}, order)))), scroll(el('table', {}, head, body)));
}

const tone = kind => kind === 'PASS' ? 'good' : kind === 'HACK' || kind === 'SUSPECT' ? 'warn' : 'bad';
function badge(verdict) {
  return el('span', { class: 'badge ' + tone(verdict.kind) }, verdict.kind + (verdict.kind === 'PASS' ? ` ${verdict.speedup.toFixed(2)}×` : ''));
}
function verdictBox(verdict) {
  const timed = verdict.candidate_us > 0 ? ` ${number(verdict.candidate_us)} µs against ${number(verdict.baseline_us)} µs: ${verdict.speedup.toFixed(2)}× [${verdict.low.toFixed(2)}, ${verdict.high.toFixed(2)}]` : '';
  return el('div', { class: 'verdict' }, badge(verdict), verdict.reason ? el('code', {}, verdict.reason) : null, timed, verdict.message ? el('pre', { class: 'message' }, verdict.message) : null);
}
function conversation(talk) {
  const turn = (one, i) => el('div', { class: 'turn' }, el('h4', {}, `Turn ${i + 1}`, one.stopped ? '' : ' · cut at the length limit'),
    one.answer.map(passage => [el('div', { class: 'role' }, passage.role), el('pre', { class: passage.role }, passage.text)]), verdictBox(one.verdict));
  const node = el('details', { class: 'conversation' }, el('summary', {}, talk.turns.map(one => badge(one.verdict)), ' ', el('code', {}, talk.task), el('span', { class: 'quiet' }, ` ${talk.run}, sample ${talk.sample}`)));
  node.addEventListener('toggle', () => node.append(el('details', {}, el('summary', { class: 'quiet' }, 'what was asked'), el('pre', { class: 'prompt' }, talk.prompt)), ...talk.turns.map(turn)), { once: true });
  return node;
}
function conversationsSection() {
  if (!data.conversations.length) return;
  section('What it wrote', data.conversations.map(group => {
    const where = { eval_after: 'held-out tasks, after', eval_before: 'held-out tasks, before' }[group.origin] || group.origin.replace(/_0*/, ' ');
    return el('div', { 'data-group': group.group }, data.groups.length > 1 ? el('h3', {}, groupName(group.group)) : null,
      [['best', 'Best'], ['worst', 'Worst']].map(([key, name]) => group[key].length ? [el('p', { class: 'quiet' }, `${name}: ${where}`), group[key].map(conversation)] : null));
  }));
}

function optionsSection() {
  const parts = [];
  if (data.differences.length) {
    const head = el('thead', {}, el('tr', {}, el('th', {}, 'option'), data.groups.map((_, index) => el('th', {}, groupName(index)))));
    parts.push(scroll(el('table', {}, head, el('tbody', {}, data.differences.map(row => el('tr', {}, el('td', { class: 'first' }, el('code', {}, row.key)), row.values.map(value => el('td', {}, value || '–'))))))));
  }
  section('Options', parts, data.groups.map((group, index) => el('details', {}, el('summary', {}, 'all options of ', groupName(index)), el('pre', {}, group.options))));
}

// ---- the page

function legend() {
  const nav = document.getElementById('legend');
  if (data.groups.length < 2) return;
  nav.hidden = false;
  data.groups.forEach((group, index) => {
    const seeds = group.runs.length > 1 ? ` · ${group.runs.length} seeds` : '';
    const button = el('button', { type: 'button', 'aria-pressed': 'true', title: 'show or hide', onclick: () => {
      hidden.has(index) ? hidden.delete(index) : hidden.add(index);
      button.setAttribute('aria-pressed', String(!hidden.has(index)));
      document.querySelectorAll('tr[data-group], div[data-group]').forEach(node => { node.hidden = hidden.has(Number(node.dataset.group)); });
      redraws.forEach(draw => draw());
    } }, swatch(index), group.label + seeds);
    nav.append(button);
  });
}

const runs = data.groups.reduce((sum, group) => sum + group.runs.length, 0);
document.title = data.title + ' · Temper';
document.getElementById('title').textContent = data.title;
document.getElementById('subtitle').textContent = `${runs} ${runs === 1 ? 'run' : 'runs'}${data.groups.length > 1 ? ` in ${data.groups.length} groups that differ in more than their seed` : ''} · written ${data.written}`;
if (data.problems.length) {
  const list = document.getElementById('problems');
  list.hidden = false;
  list.append(...data.problems.map(problem => el('li', {}, problem)));
}
legend();
runsSection();
heldOutSection();
curvesSections();
timeSection();
verdictsSection();
tasksSection();
conversationsSection();
optionsSection();
