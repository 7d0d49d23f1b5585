// ---- what it wrote

const tone = kind => kind === 'PASS' ? 'good' : kind === 'HACK' || kind === 'SUSPECT' ? 'warn' : 'bad';
function badge(verdict) {
  return el('span', { class: 'badge ' + tone(verdict.kind) }, verdict.kind + (verdict.kind === 'PASS' ? ` ${verdict.speedup.toFixed(2)}×` : ''));
}
// What the badge does not say.
function verdictText(verdict) {
  const ratio = verdict.speedup > 0 ? `${verdict.kind === 'PASS' ? '' : `: ${verdict.speedup.toFixed(2)}×`} [${verdict.low.toFixed(2)}, ${verdict.high.toFixed(2)}]` : '';
  const timed = verdict.candidate_us > 0 ? `${number(verdict.candidate_us)} µs against ${number(verdict.baseline_us)} µs${ratio}` : '';
  const shapes = (verdict.shapes ?? []).map(at => `; at ${at.sizes} ${number(at.candidate_us)} µs against ${number(at.baseline_us)} µs`).join('');
  return [verdict.reason ? [el('code', {}, verdict.reason), ' '] : null, timed + shapes];
}

// What the judge's message says beyond the badge's kind and speedup.
function furtherWords({ kind, message }) {
  if (!message.startsWith(kind)) return message;
  return message.slice(kind.length).replace(/^ speedup [\d.]+/, '').replace(/^[,;:]?\s+/, '');
}

const textOf = (turn, role) => turn.answer.filter(passage => passage.role === role).map(passage => passage.text).join('');
// A passage as it stands, or what became of it since the turn before.
function passageNodes(passage, turns, index) {
  const heading = (...note) => el('div', { class: 'role' }, passage.role, ...note);
  const plain = passage.role === 'code' ? plainCode : text => el('pre', { class: 'plan' }, text);
  const before = index > 0 ? textOf(turns[index - 1], passage.role) : '', now = textOf(turns[index], passage.role);
  if (before && before === now) return el('details', {}, el('summary', { class: 'role' }, passage.role, el('b', { class: 'warn' }, ` unchanged from turn ${index}`)), plain(passage.text));
  if (!before || passage.role !== 'code' || now !== passage.text) return [heading(), plain(passage.text)];
  const { pre, added, removed } = changedCode(before, now);
  return [heading(' against turn ' + index + ': ', el('span', { class: 'good' }, `+${added}`), ' ', el('span', { class: 'bad' }, `−${removed}`), ' lines'), pre];
}
function turnNode(turns, index) {
  const turn = turns[index], heading = [`Turn ${index + 1}`, turn.stopped ? '' : ', cut at the length limit', ' ', badge(turn.verdict), verdictText(turn.verdict)];
  return el('div', { class: 'turn' }, el('h4', {}, heading), turn.answer.map(passage => passageNodes(passage, turns, index)),
    furtherWords(turn.verdict) ? [el('div', { class: 'role' }, 'the judge says'), el('pre', { class: 'message' }, furtherWords(turn.verdict))] : null);
}
const askedNode = talk => el('details', {}, el('summary', { class: 'quiet' }, 'what was asked'), el('pre', { class: 'prompt' }, talk.prompt));
// Closed, it shows the verdicts; open, each turn has its own.
function foldedNode(task, summary, content) {
  const node = el('details', { class: 'conversation', 'data-task': task.toLowerCase() }, el('summary', {}, summary));
  node.addEventListener('toggle', () => node.append(...[content()].flat(9).filter(Boolean)), { once: true });
  return node;
}
const badgesOf = talk => el('span', { class: 'badges' }, talk.turns.map(turn => badge(turn.verdict)));
const turnsOf = talk => talk.turns.map((_, i) => turnNode(talk.turns, i));
function conversation(talk) {
  return foldedNode(talk.task, [badgesOf(talk), ' ', brokenName(talk.task), el('span', { class: 'quiet' }, ` ${talk.run}, sample ${talk.sample}`)],
    () => [askedNode(talk), turnsOf(talk)]);
}
function changeNode(pair) {
  const share = value => (100 * value).toFixed(0);
  return foldedNode(pair.task, [el('span', { class: 'badge ' + (pair.share_after > pair.share_before ? 'good' : 'bad') }, `${share(pair.share_before)} → ${share(pair.share_after)} %`), ' ', brokenName(pair.task), el('span', { class: 'quiet' }, ` ${pair.after.run}`)],
    () => [askedNode(pair.after), [['Before', pair.before], ['After', pair.after]].map(([name, talk]) => [el('h4', { class: 'side' }, `${name}, sample ${talk.sample}`), turnsOf(talk)])]);
}

const originName = origin => ({ eval_after: 'held-out tasks, after', eval_before: 'held-out tasks, before' }[origin] || origin.replace(/_0*/, ' '));
const LISTS = [['improved', 'Most improved', 'share of right last answers, before → after', changeNode], ['regressed', 'Regressed', 'share of right last answers, before → after', changeNode],
  ['best', 'Best', 'fastest right last answers', conversation], ['worst', 'Worst', 'hacks, then each kind of failure', conversation], ['each', 'One answer to each task', 'the first sample', conversation]];
function conversationList(group, [key, name, help, node]) {
  if (!group[key].length) return null;
  const details = el('details', { class: 'list', open: key !== 'each' }, el('summary', {}, el('b', {}, name), el('span', { class: 'quiet' }, ` (${group[key].length}) ${help}`)));
  details.append(...group[key].map(node));
  return details;
}

// Leaves the conversations about tasks with `text` in their names; others are hidden.
const search = el('input', { type: 'search', placeholder: 'part of a task’s name', 'aria-label': 'search conversations by task', oninput: () => showTask(search.value) });
function showTask(text) {
  const wanted = text.trim().toLowerCase();
  search.value = text;
  document.querySelectorAll('.conversation').forEach(node => { node.hidden = !node.dataset.task.includes(wanted); });
  document.querySelectorAll('details.list').forEach(list => {
    list.hidden = !list.querySelector('.conversation:not([hidden])');
    if (wanted) list.open = true;
  });
}
function conversationsSection() {
  if (!data.conversations.length) return;
  section('What it wrote', el('label', {}, 'task ', search), data.conversations.map(group => el('div', { 'data-group': group.group },
    data.groups.length > 1 ? el('h3', {}, groupName(group.group)) : null, el('p', { class: 'quiet' }, `From: ${originName(group.origin)}.`), LISTS.map(list => conversationList(group, list)))));
}

