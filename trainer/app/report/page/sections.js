// ---- sections

const BUILD = new Set(['compiler', 'flags', 'libraries', 'directory']);
const factList = facts => el('dl', { class: 'facts' }, facts.map(([name, value]) => el('div', { class: value.length > 70 ? 'long' : false }, el('dt', {}, name), el('dd', {}, value))));
function factNodes(facts) {
  const build = facts.filter(([name]) => BUILD.has(name));
  return [factList(facts.filter(([name]) => !BUILD.has(name))), build.length ? el('details', {}, el('summary', { class: 'quiet' }, 'how the program was built'), factList(build)) : null];
}
const stepsText = run => `${run.steps.toLocaleString('en-US')} of ${run.steps_planned ? Number(run.steps_planned).toLocaleString('en-US') : '?'}`;

function runsSection() {
  const all = data.groups.flatMap(group => group.runs);
  if (all.length === 1)
    return section('Runs', factNodes([['state', all[0].state], ['steps', stepsText(all[0])], ['time', duration(all[0].seconds)], ['seed', all[0].seed], ['run', all[0].dir], ...all[0].facts].filter(([, value]) => value)));
  // What all runs have in common is said once, what fits a column stands in the table, the rest below it.
  const names = [...new Set(all.flatMap(run => run.facts.map(([name]) => name)))], of = (run, name) => (run.facts.find(fact => fact[0] === name) || [])[1] || '';
  const common = names.filter(name => all.every(run => of(run, name) === of(all[0], name)));
  const columns = ['began', 'policy', 'device', 'machine', 'program'].filter(name => names.includes(name) && !common.includes(name));
  const row = (run, index) => el('tr', { 'data-group': index }, el('td', { class: 'first' }, groupName(index)), el('td', { class: 'left' }, run.name), el('td', {}, run.seed),
    el('td', { class: 'left' }, run.state), el('td', {}, stepsText(run)), el('td', {}, duration(run.seconds)), columns.map(name => el('td', { class: 'left' }, of(run, name) || '–')));
  const left = name => el('th', { class: 'left' }, name);
  const head = el('thead', {}, el('tr', {}, ['group', 'run'].map(left), el('th', {}, 'seed'), left('state'), ['steps', 'time'].map(name => el('th', {}, name)), columns.map(left)));
  const further = all.map(run => [run, run.facts.filter(([name]) => !common.includes(name) && !columns.includes(name))]).filter(([, facts]) => facts.length);
  section('Runs', scroll(el('table', {}, head, el('tbody', {}, data.groups.map((group, index) => group.runs.map(run => row(run, index)))))),
    common.length ? [el('p', { class: 'quiet' }, 'Of all of them:'), factNodes(common.map(name => [name, of(all[0], name)]))] : null,
    further.length ? el('details', {}, el('summary', { class: 'quiet' }, 'further facts of each run'), further.map(([run, facts]) => [el('h4', {}, run.name), factList(facts)])) : null);
}

function heldOutCell(before, after, isShare) {
  const show = v => isShare ? (100 * v).toFixed(1) : number(v);
  const text = value => !value ? '–' : show(value.mean) + (value.spread !== undefined ? ` ± ${show(value.spread)}` : '');
  const interval = value => value && value.low !== undefined ? `${show(value.low)} to ${show(value.high)}` : '';
  return el('td', { title: [interval(before) && `before: ${interval(before)}`, interval(after) && `after: ${interval(after)}`].filter(Boolean).join('; ') || false },
    el('small', {}, text(before), ' → '), el('b', {}, after ? show(after.mean) : '–'), after && after.spread !== undefined ? el('small', {}, ` ± ${show(after.spread)}`) : null,
    interval(after) ? el('div', { class: 'interval' }, interval(after)) : null);
}
function heldOutSection() {
  const { figures, shares, rows } = data.held_out;
  if (!rows.length) return;
  const kinds = [...new Set(rows.map(row => row.answers))], several = data.groups.length > 1;
  const answers = row => [row.judged_before, row.judged_after].filter(Boolean).filter((count, i, all) => all.indexOf(count) === i).map(count => count.toLocaleString('en-US')).join(' → ') || '–';
  const line = row => el('tr', { 'data-group': row.group }, el('td', { class: 'first' }, several ? groupName(row.group) : row.answers), el('td', {}, answers(row)), figures.map((_, i) => heldOutCell(row.before[i], row.after[i], i < shares)));
  const body = kinds.map(kind => el('tbody', {}, several ? el('tr', { class: 'head' }, el('th', {}, kind), el('th', { colspan: figures.length + 1 })) : null, rows.filter(row => row.answers === kind).map(line)));
  const head = el('thead', {}, el('tr', {}, el('th', {}, several ? 'group' : 'answer'), el('th', {}, 'answers'), figures.map((figure, i) => el('th', {}, figure + (i < shares ? ', %' : figure === 'speedup' ? ', ×' : '')))));
  const has = key => rows.some(row => row.after.concat(row.before).some(value => value && value[key] !== undefined));
  section('Held-out tasks, before → after', el('p', { class: 'quiet' }, 'answers: how many were judged. fast_p: share of them that are right and more than p times as fast as PyTorch eager.',
    has('spread') ? ' ±: standard deviation over seeds.' : '', has('low') ? ' Below a share: its 95 % interval (Wilson) for so many answers. Answers to one task are alike, so that other tasks would scatter more.' : ''), scroll(el('table', {}, head, body)));
}

// Two points are no course, and stand in the table above.
const isTrend = chart => chart.section !== 'Held out' || chart.lines.some(line => line.x.length > 2);
function curvesSections() {
  const shown = data.charts.filter(isTrend), names = [...new Set(shown.map(chart => chart.section))];
  const single = shown.some(chart => chart.lines.some(line => line.raw_low)), spread = shown.some(chart => chart.lines.some(line => line.low));
  const note = [single ? 'Line: moving mean; faint: each step as it was, where a point stands for several from the least to the largest.' : '', spread ? 'Line: moving mean over the seeds of a group; band: ± one standard deviation over seeds.' : ''].join(' ');
  names.forEach((name, i) => {
    const here = shown.filter(chart => chart.section === name), lines = here.filter(chart => !isNumber(chart)), numbers = here.filter(isNumber);
    section(name, i ? null : el('p', { class: 'quiet' }, note), lines.length ? charts(lines.map(lineChart)) : null, numbers.length ? [el('p', { class: 'quiet same' }, 'The same all the time:'), constants(numbers)] : null);
  });
}

const share = (value, sum) => (100 * value / sum).toFixed(0) + ' %';
const colouredPart = part => [el('i', { class: 'key', style: `background:${partColor(part)}` }), part];
const slice = (part, value, sum) => el('span', { title: part, style: `width:${100 * value / sum}%;background:${partColor(part)}` });
// Of one group a row each part; of several a row each group.
function partRows({ values }, parts, used, sum) {
  const row = i => el('tr', {}, el('td', { class: 'first' }, colouredPart(parts[i])), el('td', {}, duration(values[i])), el('td', {}, share(values[i], sum)), el('td', { class: 'left wide' }, el('div', { class: 'bar' }, slice(parts[i], values[i], sum))));
  const whole = el('tr', { class: 'head' }, el('th', {}, 'wall clock'), el('th', {}, duration(sum)), el('th', {}, ''), el('th', { class: 'wide' }, el('div', { class: 'bar' }, used.map(i => slice(parts[i], values[i], sum)))));
  return el('table', {}, el('tbody', {}, used.map(row), whole));
}
function partColumns(rows, parts, used) {
  const row = ({ group, values }) => {
    const sum = values.reduce((a, b) => a + b, 0) || 1;
    return el('tr', { 'data-group': group }, el('td', { class: 'first' }, groupName(group)), el('td', {}, duration(sum)), el('td', { class: 'left' }, el('div', { class: 'bar' }, used.map(i => slice(parts[i], values[i], sum)))),
      used.map(i => el('td', {}, duration(values[i]), el('small', {}, ' ' + share(values[i], sum)))));
  };
  return el('table', {}, el('thead', {}, el('tr', {}, ['', 'wall clock', 'share'].map(name => el('th', {}, name)), used.map(i => el('th', {}, colouredPart(parts[i]))))), el('tbody', {}, rows.map(row)));
}
function timeSection() {
  const stacks = data.time, { parts, groups } = data.time_totals;
  const used = parts.map((_, i) => i).filter(i => groups.some(row => row.values[i] > 0));
  if (!used.length) return;
  section('Where the time went', el('p', { class: 'quiet' }, 'Wall clock from the first to the last line of a run', groups.length < runCount ? ', the mean over its seeds' : '', '. “start, corpus”: before the first figures: tasks are read, the examples of the cold start made and judged. “judge”: waiting for verdicts with nothing left to generate; what is judged while others still write costs no time.'),
    scroll(groups.length === 1 ? partRows(groups[0], parts, used, groups[0].values.reduce((a, b) => a + b, 0) || 1) : partColumns(groups, parts, used)),
    stacks.groups.length ? [el('h3', {}, 'Seconds of a step'), partLegend(stacks.parts), charts(stacks.groups.map(group => stackChart(stacks.parts, group, 's')))] : null);
}

function verdictsSection() {
  const { parts, groups } = data.verdicts;
  if (parts.length && groups.length) section('Verdicts', partLegend(parts), charts(groups.map(group => stackChart(parts, group, '%'))));
}

// ---- tasks

const DUMBBELL = 144, dumbbellX = share => 14 + (DUMBBELL - 28) * share;
function dumbbell({ before, after }, index) {
  const x = dumbbellX, picture = svg('svg', { class: 'dumbbell', viewBox: `0 0 ${DUMBBELL} 16`, 'aria-hidden': 'true' }, svg('line', { class: 'axis', x1: x(0), x2: x(1), y1: 8, y2: 8 }),
    [0, 0.5, 1].map(share => svg('line', { class: 'axis', x1: x(share), x2: x(share), y1: 1, y2: 15 })));
  if (after) picture.append(svg('line', { x1: x(after.low), x2: x(after.high), y1: 8, y2: 8, stroke: color(index), 'stroke-width': 6, opacity: 0.22 }));
  if (before && after) picture.append(svg('line', { x1: x(before.rate), x2: x(after.rate), y1: 8, y2: 8, stroke: color(index), 'stroke-width': 2 }));
  if (before) picture.append(svg('circle', { cx: x(before.rate), cy: 8, r: 4, fill: 'var(--card)', stroke: color(index), 'stroke-width': 1.5 }));
  if (after) picture.append(svg('circle', { cx: x(after.rate), cy: 8, r: 4.5, fill: color(index) }));
  return picture;
}
function dumbbellAxis() {
  const label = (share, anchor) => svg('text', { x: dumbbellX(share), y: 11, 'text-anchor': anchor }, String(100 * share));
  return svg('svg', { class: 'dumbbell', viewBox: `0 0 ${DUMBBELL} 16`, role: 'img', 'aria-label': 'from 0 to 100 %' }, label(0, 'middle'), label(0.5, 'middle'), label(1, 'middle'));
}
function taskCells(cell, index) {
  const share = tally => tally ? (100 * tally.rate).toFixed(0) : '–', speed = tally => tally && tally.speedup ? tally.speedup.toFixed(2) : '–', { before, after } = cell;
  const counts = [before, after].filter(Boolean).map(tally => tally.answers).filter((count, i, all) => all.indexOf(count) === i);
  return [el('td', { class: 'axis-cell', title: after ? `after: 95 % interval ${(100 * after.low).toFixed(0)} to ${(100 * after.high).toFixed(0)} %` : false }, before || after ? dumbbell(cell, index) : null),
    el('td', {}, before || after ? [el('small', {}, share(before), ' → '), el('b', {}, share(after))] : '–'), el('td', {}, counts.join(' → ') || '–'),
    el('td', {}, [before, after].some(tally => tally && tally.speedup) ? [el('small', {}, speed(before), ' → '), el('b', {}, speed(after))] : '–')];
}

// All answers to several tasks together.
function pooled(tallies) {
  const there = tallies.filter(Boolean), answers = there.reduce((sum, tally) => sum + tally.answers, 0);
  if (!answers) return null;
  const passed = there.map(tally => tally.rate * tally.answers), passes = passed.reduce((a, b) => a + b, 0), rate = passes / answers;
  const logs = there.reduce((sum, tally, i) => sum + (passed[i] ? passed[i] * Math.log(tally.speedup) : 0), 0);
  return { rate, low: rate, high: rate, answers, speedup: passes ? Math.exp(logs / passes) : 0 };
}
const taskRow = row => el('tr', {}, el('td', { class: 'first' }, taskName(row.task)), row.cells.map(taskCells));
// A family's tasks, below what they are together.
function familyRows(family, rows) {
  const together = data.groups.map((_, index) => ({ before: pooled(rows.map(row => row.cells[index].before)), after: pooled(rows.map(row => row.cells[index].after)) }));
  return [el('tr', { class: 'head' }, el('td', { class: 'first' }, `${family || 'other'} (${rows.length})`), together.map(taskCells)), rows.map(taskRow)];
}
function taskOrders() {
  const mean = (row, f) => { const found = row.cells.map(f).filter(value => value !== null); return found.length ? found.reduce((a, b) => a + b, 0) / found.length : -Infinity; };
  const gain = row => mean(row, ({ before, after }) => before && after ? after.rate - before.rate : null);
  const by = f => (a, b) => f(b) - f(a) || 0;
  const byName = (a, b) => a.task < b.task ? -1 : 1;
  return { ...(data.tasks.some(row => row.family) ? { family: byName } : {}), name: byName, gain: by(gain), loss: (a, b) => by(gain)(b, a), 'pass rate after': by(row => mean(row, ({ after }) => after ? after.rate : null)), speedup: by(row => mean(row, ({ after }) => after && after.speedup ? after.speedup : null)) };
}
function taskName(task) {
  if (!data.conversations.length) return brokenName(task);
  return el('button', { type: 'button', class: 'task', title: 'what it wrote', onclick: () => { showTask(task); search.scrollIntoView({ block: 'start' }); } }, brokenName(task));
}
function tasksSection() {
  if (!data.tasks.length) return;
  const orders = taskOrders(), several = data.groups.length > 1, body = el('tbody', {});
  const draw = order => {
    const rows = [...data.tasks].sort(orders[order]), families = [...new Set(rows.map(row => row.family))].sort();
    body.replaceChildren(...(order === 'family' ? families.map(family => familyRows(family, rows.filter(row => row.family === family))) : rows.map(taskRow)).flat(9));
  };
  draw(Object.keys(orders)[0]);
  const columns = [el('th', { class: 'axis-cell' }, 'pass rate, %', dumbbellAxis()), el('th', {}, 'before → after, %'), el('th', {}, 'answers'), el('th', {}, 'speedup before → after, ×')];
  const head = el('thead', {}, several ? el('tr', { class: 'groups' }, el('th', {}), data.groups.map((_, index) => el('th', { colspan: columns.length, class: 'left' }, groupName(index)))) : null,
    el('tr', {}, el('th', {}, 'task'), data.groups.map(() => columns.map(column => column.cloneNode(true)))));
  section('Tasks, pass rate before → after', el('p', { class: 'quiet' }, 'Ring: before; dot: after; broad line: 95 % interval of what is after (Wilson). Sampled last answers; speedup: geometric mean of those that pass, against PyTorch eager.'),
    el('label', {}, 'sorted by ', el('select', { onchange: event => draw(event.target.value) }, Object.keys(orders).map(order => el('option', {}, order)))), scroll(el('table', { class: 'tasks' }, head, body)));
}

function optionsSection() {
  const parts = [];
  if (data.differences.length) {
    const head = el('thead', {}, el('tr', {}, el('th', {}, 'option'), data.groups.map((_, index) => el('th', {}, groupName(index)))));
    parts.push(scroll(el('table', {}, head, el('tbody', {}, data.differences.map(row => el('tr', {}, el('td', { class: 'first' }, el('code', {}, row.key)), row.values.map(value => el('td', {}, value || '–'))))))));
  }
  section('Options', parts, data.groups.map((group, index) => el('details', {}, el('summary', {}, 'all options of ', groupName(index)), el('pre', {}, group.options))));
}

