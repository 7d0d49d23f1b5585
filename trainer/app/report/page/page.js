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

document.title = data.title + ' · Temper';
document.getElementById('title').textContent = data.title;
document.getElementById('subtitle').textContent = `${runCount} ${runCount === 1 ? 'run' : 'runs'}${data.groups.length > 1 ? ` in ${data.groups.length} groups that differ in more than their seed` : ''} · written ${data.written}`;
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

// Charts are as wide as their place, so that their letters keep their size.
let drawnWidth = 0;
new ResizeObserver(() => {
  if (main.clientWidth === drawnWidth) return;
  drawnWidth = main.clientWidth;
  redraws.forEach(draw => draw());
}).observe(main);
drawnWidth = main.clientWidth;
redraws.forEach(draw => draw());
