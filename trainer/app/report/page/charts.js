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
// Whole steps: the first and the last one, and round ones that stand clear of them.
function stepTicks(first, last, count) {
  const clear = (last - first) / count / 2;
  const round = ticks(first, last, count).filter(v => Number.isInteger(v) && v - first > clear && last - v > clear);
  return [first, ...round, ...(last > first ? [last] : [])];
}
function bounds(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
  return [low, high];
}
function range(values, unit) {
  let [low, high] = bounds(values);
  if (!(low <= high)) return [0, 1];
  if (unit === '%' || (low > 0 && low < 0.5 * high)) low = Math.min(low, 0);
  if (unit === '%') high = Math.min(1, high * 1.06), low = Math.max(low, 0);
  if (high - low < 1e-12) high = low + (Math.abs(low) || 1);
  const step = niceStep(high - low, 4);
  return [Math.floor(low / step + 1e-9) * step, unit === '%' ? Math.max(high, low + 0.01) : Math.ceil(high / step - 1e-9) * step];
}
// What the axis must reach: the lines, and every step as it was; where few steps of a line lie far outside of all
// others, those between the 1st and the 99th of a hundred.
function reached(drawn, raws) {
  const [low, high] = bounds([...drawn, ...raws.flat()]);
  const inner = bounds([...drawn, ...raws.flatMap(raw => {
    const sorted = [...raw].sort((a, b) => a - b), at = share => sorted[Math.round(share * (sorted.length - 1))];
    return sorted.length ? [at(0.01), at(0.99)] : [];
  })]);
  return high - low > 4 * (inner[1] - inner[0]) && inner[1] > inner[0] ? inner : [low, high];
}

const H = 214, LEFT = 46, RIGHT = 12, TOP = 10, BOTTOM = 36;
function frame(plot, xs, [low, high], unit, title) {
  const W = Math.max(200, plot.clientWidth || 380), first = xs[0], last = xs[xs.length - 1], span = Math.max(last - first, 1);
  const x = value => LEFT + (value - first) / span * (W - LEFT - RIGHT);
  const y = value => TOP + (high - value) / (high - low) * (H - TOP - BOTTOM);
  const picture = svg('svg', { viewBox: `0 0 ${W} ${H}`, height: H, role: 'img' });
  const axis = v => unit === '%' ? String(Number((100 * v).toPrecision(3))) + ' %' : Math.abs(v) >= 1e4 ? number(v / 1000) + 'k' : number(v);
  for (const v of ticks(low, high, 4))
    picture.append(svg('line', { class: 'grid', x1: LEFT, x2: W - RIGHT, y1: y(v), y2: y(v) }),
      svg('text', { x: LEFT - 6, y: y(v) + 4, 'text-anchor': 'end' }, axis(v)));
  for (const v of stepTicks(first, last, Math.max(2, Math.floor(W / 80))))
    picture.append(svg('line', { class: 'axis', x1: x(v), x2: x(v), y1: H - BOTTOM, y2: H - BOTTOM + 4 }),
      svg('text', { x: x(v), y: H - BOTTOM + 16, 'text-anchor': 'middle' }, Number.isInteger(v) ? v.toLocaleString('en-US') : number(v)));
  picture.append(svg('line', { class: 'axis', x1: LEFT, x2: W - RIGHT, y1: H - BOTTOM, y2: H - BOTTOM }),
    svg('text', { x: (LEFT + W - RIGHT) / 2, y: H - 4, 'text-anchor': 'middle' }, title));
  return { picture, x, y, W };
}
const path = points => points.map(([x, y], i) => (i ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1)).join('');
const area = (there, back) => path(there.concat(back.reverse())) + 'Z';

// A line at the pointer's step and what was there; `rows(step)` gives what the box says.
function attachTip(plot, { picture, x, W }, xs, rows) {
  const cursor = svg('line', { class: 'cursor', y1: TOP, y2: H - BOTTOM, visibility: 'hidden' });
  const tip = el('div', { class: 'tip', hidden: true });
  picture.append(cursor);
  plot.append(tip);
  const hide = () => { tip.hidden = true; cursor.setAttribute('visibility', 'hidden'); };
  const show = event => {
    const box = picture.getBoundingClientRect(), at = (event.clientX - box.left) / box.width * W;
    const nearest = xs.reduce((best, step) => Math.abs(x(step) - at) < Math.abs(x(best) - at) ? step : best, xs[0]);
    cursor.setAttribute('x1', x(nearest)); cursor.setAttribute('x2', x(nearest)); cursor.setAttribute('visibility', 'visible');
    tip.replaceChildren(...rows(nearest));
    tip.hidden = false;
    // Beside the line, on the side where there is more room.
    const left = x(nearest) / W * box.width;
    tip.style.left = Math.max(4, left > box.width / 2 ? left - tip.offsetWidth - 8 : Math.min(left + 8, box.width - tip.offsetWidth - 4)) + 'px';
  };
  picture.addEventListener('pointermove', show);
  picture.addEventListener('pointerdown', show);
  picture.addEventListener('pointerleave', hide);
}

// ---- charts

// A grid of figures: as many columns as fit, one less where that leaves fewer places empty.
function charts(figures) {
  const grid = el('div', { class: 'charts' }, figures);
  redraws.unshift(() => {
    const most = Math.max(1, Math.min(figures.length, Math.floor((main.clientWidth + 14) / 354)));
    const empty = columns => (columns - figures.length % columns) % columns;
    const columns = most > 1 && empty(most - 1) < empty(most) ? most - 1 : most;
    grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  });
  return grid;
}

const rawOf = line => [...(line.raw_low || []), ...(line.raw_high || [])];
// One value at all steps: a number says it.
const isConstant = line => [...line.y, ...rawOf(line)].every(v => v === line.y[0]);
const isNumber = chart => chart.lines.every(isConstant);

function drawRaw(place, line, clip, [low, high]) {
  const { picture, x, y } = place, stroke = { stroke: color(line.group) };
  const single = line.raw_low.every((v, i) => v === line.raw_high[i]);
  const high_edge = line.x.map((step, i) => [x(step), clip(line.raw_high[i])]), low_edge = line.x.map((step, i) => [x(step), clip(line.raw_low[i])]);
  picture.append(single ? svg('path', { class: 'raw', ...stroke, d: path(high_edge) }) : svg('path', { class: 'raw-band', fill: color(line.group), d: area(high_edge, low_edge) }));
  const mark = (step, v, d) => picture.append(svg('path', { class: 'cut', fill: color(line.group), transform: `translate(${x(step).toFixed(1)} ${clip(v).toFixed(1)})`, d }));
  line.x.forEach((step, i) => {
    if (line.raw_high[i] > high) mark(step, line.raw_high[i], 'M-4 6L4 6L0 0Z');
    if (line.raw_low[i] < low) mark(step, line.raw_low[i], 'M-4 -6L4 -6L0 0Z');
  });
}

// What lies outside of the axis, in words.
function cutText(lines, [low, high], unit) {
  const beyond = lines.flatMap(line => [...(line.raw_high || []).filter(v => v > high), ...(line.raw_low || []).filter(v => v < low)]);
  if (!beyond.length) return '';
  return `▲▼ ${beyond.length} beyond the axis, as far as ${withUnit(beyond.reduce((a, b) => Math.abs(b) > Math.abs(a) ? b : a), unit)}`;
}

function lineTip(chart, lines) {
  return step => [el('div', { class: 'quiet' }, `${chart.x} ${number(step)}`), ...lines.flatMap(line => {
    const i = line.x.indexOf(step);
    if (i < 0) return [];
    const spread = line.high ? ` ± ${withUnit(line.high[i] - line.y[i], chart.unit)}` : '';
    const raw = !line.raw_low ? null : line.raw_low[i] === line.raw_high[i] ? withUnit(line.raw_low[i], chart.unit) : `${withUnit(line.raw_low[i], chart.unit)} to ${withUnit(line.raw_high[i], chart.unit)}`;
    return [el('div', {}, groupName(line.group), ': ', el('b', {}, withUnit(line.y[i], chart.unit)), spread), raw && el('div', { class: 'quiet' }, 'unsmoothed ', raw)];
  }).filter(Boolean)];
}

function drawLines(chart, plot, cut) {
  const lines = chart.lines.filter(line => !hidden.has(line.group));
  plot.replaceChildren();
  if (!lines.length) return;
  const xs = [...new Set(lines.flatMap(line => line.x))].sort((a, b) => a - b);
  // The band of what is never negative is not either.
  const floor = lines.every(line => line.y.every(v => v >= 0)) ? 0 : -Infinity;
  const drawn = lines.flatMap(line => [...line.y, ...(line.low || []).map(v => Math.max(v, floor)), ...(line.high || [])]);
  const scale = range(reached(drawn, lines.map(rawOf)), chart.unit);
  const place = frame(plot, xs, scale, chart.unit, chart.x);
  const { picture, x, y } = place, clip = v => Math.min(H - BOTTOM, Math.max(TOP, y(v)));
  for (const line of lines)
    if (line.low) picture.append(svg('path', { class: 'band', fill: color(line.group), d: area(line.x.map((step, i) => [x(step), clip(line.high[i])]), line.x.map((step, i) => [x(step), clip(line.low[i])])) }));
  for (const line of lines) if (line.raw_low) drawRaw(place, line, clip, scale);
  for (const line of lines) {
    picture.append(svg('path', { class: 'mean', stroke: color(line.group), 'stroke-dasharray': dash(line.group), d: path(line.x.map((step, i) => [x(step), y(line.y[i])])) }));
    if (line.x.length < 12) line.x.forEach((step, i) => picture.append(svg('circle', { cx: x(step), cy: y(line.y[i]), r: 3, fill: color(line.group) })));
  }
  const last = lines.map(line => data.groups[line.group].label + ' ' + withUnit(line.y[line.y.length - 1], chart.unit));
  picture.setAttribute('aria-label', `${chart.title} over ${chart.x}s; last: ${last.join(', ')}`);
  cut.textContent = cutText(lines, scale, chart.unit);
  plot.append(picture);
  attachTip(plot, place, xs, lineTip(chart, lines));
}

function lineChart(chart) {
  const plot = el('div', { class: 'plot' }), cut = el('small', { class: 'cut-text' });
  redraws.push(() => drawLines(chart, plot, cut));
  return el('figure', {}, el('figcaption', {}, chart.title, el('small', {}, chart.help || '\u00a0', chart.unit && chart.unit !== '%' && chart.unit !== '×' ? `; ${chart.unit}` : '')), plot, cut);
}

// What did not change, as numbers.
function constants(list) {
  const value = (chart, line) => [data.groups.length > 1 ? [groupName(line.group), ' '] : null, el('b', {}, withUnit(line.y[0], chart.unit))];
  return el('dl', { class: 'constants' }, list.map(chart => {
    const same = chart.lines.every(line => line.y[0] === chart.lines[0].y[0]);
    return el('div', {}, el('dt', { title: chart.help }, chart.title), same ? el('dd', {}, el('b', {}, withUnit(chart.lines[0].y[0], chart.unit))) : chart.lines.map(line => el('dd', {}, value(chart, line))));
  }));
}

const partLegend = parts => el('ul', { class: 'parts' }, parts.map(part => el('li', {}, el('i', { style: `background:${partColor(part)}` }), part)));

function drawStack(parts, group, unit, plot) {
  const xs = group.x, sums = xs.map(() => 0);
  const tops = group.values.map(values => values.map((value, i) => sums[i] += value));
  plot.replaceChildren();
  const wide = xs.length > 1 ? xs : [xs[0], xs[0] + 1], at = i => Math.min(i, xs.length - 1);
  const place = frame(plot, wide, unit === '%' ? [0, 1] : range([0, ...sums], unit), unit, 'step');
  const { picture, x, y } = place;
  picture.setAttribute('aria-label', `${data.groups[group.group].label}: ${parts.join(', ')} over steps`);
  tops.forEach((top, part) => picture.append(svg('path', { fill: partColor(parts[part]), opacity: 0.85,
    d: area(wide.map((step, i) => [x(step), y(top[at(i)])]), wide.map((step, i) => [x(step), y(part ? tops[part - 1][at(i)] : 0)])) })));
  plot.append(picture);
  attachTip(plot, place, xs, step => [el('div', { class: 'quiet' }, `step ${number(step)}`), ...parts.map((part, i) =>
    el('div', {}, el('span', { style: `color:${partColor(part)}` }, '■ '), part, ': ', el('b', {}, withUnit(group.values[i][xs.indexOf(step)], unit)))).reverse()]);
}
function stackChart(parts, group, unit) {
  const plot = el('div', { class: 'plot' });
  const figure = el('figure', {}, data.groups.length > 1 ? el('figcaption', {}, groupName(group.group)) : null, plot);
  redraws.push(() => {
    figure.hidden = hidden.has(group.group);
    if (!figure.hidden) drawStack(parts, group, unit, plot);
  });
  return figure;
}

