import { el, setText } from './dom.js';
import { rows, onChange, isPool, keyOf } from './live.js';
import { dates, money, spoken, sum } from './money.js';
import { count, describeVersions, paint, stateOf, summary, versionLine } from './words.js';

const filters = [['all', 'All pools'], ['human', 'Need you'], ['moving', 'In motion'], ['settled', 'Settled']];
// What the user chose stays while the tab is open.
const chosen = { filter: 'all', text: '', sort: 'human', scroll: 0, focus: '' };

export const linkOf = (pool) => `#/pool/${pool.kind}/${pool.namespace}/${pool.name}`;

// rowOf builds the row of a pool once; fill sets what changes.
function rowOf(key) {
  const name = el('a', { class: 'poolname' });
  const where = el('span', { class: 'where' });
  const pill = el('span', { class: 'pill' });
  const bar = el('span', { class: 'versions', 'aria-hidden': 'true' });
  const legend = el('span', { class: 'legend', 'aria-hidden': 'true' });
  const alternative = el('span', { class: 'hidden' });
  const ready = el('span', { class: 'ready' });
  const price = el('span', { 'aria-hidden': 'true' });
  const said = el('span', { class: 'hidden' });
  const text = el('span', { class: 'oneline' });
  const cell = (name, ...content) => el('td', { class: name, role: 'cell' }, ...content); // the role stays on phones, where the row is no table row
  const row = el('tr', { 'data-key': key, role: 'row' },
    el('th', { scope: 'row', role: 'rowheader' }, el('div', { class: 'two' }, name, where)), cell('state', pill),
    cell('bars', el('div', { class: 'two' }, bar, legend, alternative)), cell('number', ready), cell('number cost', price, said), cell('detail', text));
  return { row, name, where, pill, bar, legend, alternative, ready, price, said, text };
}

function fill(parts, pool) {
  const state = stateOf(pool);
  if (parts.name.getAttribute('href') !== linkOf(pool)) parts.name.setAttribute('href', linkOf(pool));
  setText(parts.name, pool.name);
  setText(parts.where, pool.cluster && pool.cluster !== pool.namespace ? `${pool.namespace} · ${pool.cluster}` : pool.namespace);
  parts.pill.className = `pill ${state.tone}`;
  setText(parts.pill, state.label);
  paint(parts.bar, pool);
  setText(parts.legend, versionLine(pool));
  setText(parts.alternative, describeVersions(pool));
  setText(parts.ready, `${count(pool.ready)} / ${count(pool.desired)}`);
  parts.ready.classList.toggle('short', pool.ready < pool.desired);
  setText(parts.price, money(pool.cost) || '–');
  setText(parts.said, spoken(pool.cost));
  const text = summary(pool);
  setText(parts.text, text);
  parts.text.title = text;
  return state;
}

const haystack = (pool) => [pool.name, pool.namespace, pool.cluster, pool.kind, pool.instanceTypes, pool.state, pool.launchTemplateID, money(pool.cost),
  ...(pool.problems ?? []).map((p) => p.reason + ' ' + p.message)].join(' ').toLowerCase();

// Only the rows near the screen are in the document, and the row with the focus. The others are gaps.
const spare = 8; // rows above and below the screen
let rowHeight = 58; // of style.css; measured once there is a row
let move = null;

// moveFleet moves the focus to the next or previous row of the fleet, and reports whether it is shown.
export function moveFleet(by) {
  move?.(by);
  return move !== null;
}

export function fleet(main, announce) {
  const search = el('input', { type: 'search', id: 'search', placeholder: 'Search name, namespace, cluster, reason', autocomplete: 'off', spellcheck: 'false', 'aria-keyshortcuts': '/' });
  search.value = chosen.text;
  const buttons = new Map(filters.map(([id, label]) => {
    const number = el('b', {}, '–');
    const button = el('button', { type: 'button', 'aria-pressed': String(chosen.filter === id), 'data-filter': id }, number, ' ' + label);
    button.addEventListener('click', () => { chosen.filter = id; show(); });
    return [id, { button, number }];
  }));
  const sorting = el('button', { type: 'button', class: 'sort', title: 'Sort by cost' }, el('span', { class: 'hidden' }, 'Sort by cost '), 'Per hour');
  sorting.addEventListener('click', () => { chosen.sort = { human: 'dear', dear: 'cheap', cheap: 'human' }[chosen.sort]; order(); show(); });
  const total = el('p', { class: 'muted total' });
  const body = el('tbody', { role: 'rowgroup' });
  const empty = el('p', { class: 'empty' }, 'Waiting for the first answer.');
  const caption = el('caption', { class: 'hidden' });
  const columns = [['Pool', ''], ['Status', ''], ['Versions', ''], ['Ready', 'number'], [sorting, 'number cost'], ['What is going on', 'detail']]
    .map(([content, name]) => el('th', { scope: 'col', class: name, role: 'columnheader' }, content));
  const costs = columns[4];
  const table = el('table', { class: 'fleet', role: 'table' }, caption, el('thead', { role: 'rowgroup' }, el('tr', { 'aria-rowindex': 1, role: 'row' }, ...columns)), body);
  main.append(
    el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Fleet'),
      el('div', { class: 'search' }, el('label', { for: 'search', class: 'hidden' }, 'Search pools'), search, el('kbd', { 'aria-hidden': 'true' }, '/'))),
    el('div', { class: 'filters', role: 'group', 'aria-label': 'Filter' }, ...[...buttons.values()].map((b) => b.button)),
    total, table, empty);

  const known = new Map(); // key → pool, state, text, order
  let sorted = []; // all keys, those that need a human first
  let list = []; // the keys that the filter and the search leave
  const mounted = new Map(); // key → parts of the rows in the document
  const gaps = [];
  let focused = ''; // the key of the row with the focus

  function take(key) {
    const pool = rows.get(key);
    const before = known.get(key);
    if (!pool || !isPool(pool)) return known.delete(key);
    const state = stateOf(pool);
    known.set(key, { pool, state, text: haystack(pool), order: `${state.rank} ${pool.namespace} ${pool.name}`, cost: pool.cost?.perHour?.max ?? -1 });
    const parts = mounted.get(key);
    if (parts) fill(parts, pool);
    return before?.order !== known.get(key).order || (chosen.sort !== 'human' && before?.cost !== known.get(key).cost);
  }

  // order sorts the pools. Those whose cost is not known come last in both directions.
  function order() {
    const of = (key) => known.get(key).order;
    const costOf = (key) => { const { cost } = known.get(key); return chosen.sort === 'cheap' ? (cost < 0 ? Infinity : cost) : -cost; };
    const byCost = chosen.sort === 'human' ? () => 0 : (a, b) => { const [x, y] = [costOf(a), costOf(b)]; return x < y ? -1 : x > y ? 1 : 0; };
    sorted = [...known.keys()].sort((a, b) => byCost(a, b) || (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0));
    if (chosen.sort === 'human') costs.removeAttribute('aria-sort');
    else costs.setAttribute('aria-sort', chosen.sort === 'dear' ? 'descending' : 'ascending');
    setText(caption, { human: 'Pools, those that need a human first', dear: 'Pools, the most expensive first', cheap: 'Pools, the cheapest first' }[chosen.sort]);
  }

  // showTotal shows what the listed pools cost together.
  function showTotal() {
    const shown = rows.get('meta')?.prices === true;
    table.classList.toggle('priced', shown);
    const all = shown ? sum(list.map((key) => known.get(key).pool.cost)) : { known: 0 };
    total.hidden = all.known === 0;
    if (total.hidden) return;
    const what = list.length === 1 ? 'This pool costs' : `These ${count(list.length)} pools cost`;
    setText(total, `${what} ${spoken(all)}${all.unknown > 0 ? `, without ${count(all.unknown)} whose cost is not known` : ''}. ${dates(all)}.`);
  }

  function show() {
    const counts = { all: known.size, human: 0, moving: 0, settled: 0 };
    for (const { state } of known.values()) counts[state.group]++;
    for (const [id, { button, number }] of buttons) {
      setText(number, count(counts[id]));
      button.setAttribute('aria-pressed', String(chosen.filter === id));
    }
    const terms = chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
    list = sorted.filter((key) => {
      const { state, text } = known.get(key);
      return (chosen.filter === 'all' || chosen.filter === state.group) && terms.every((term) => text.includes(term));
    });
    empty.hidden = list.length > 0;
    setText(empty, known.size === 0 ? 'This cluster has no pools that you may see.' : 'No pool matches. Press Esc to clear the search.');
    table.hidden = list.length === 0;
    table.setAttribute('aria-rowcount', list.length + 1);
    showTotal();
    draw();
    const of = (n, what) => `${count(n)} ${n === 1 ? 'pool' : 'pools'} ${what}`;
    announce(terms.length > 0 ? of(list.length, 'found') : `${of(counts.all, 'in all')}, ${count(counts.human)} need a human, ${count(counts.moving)} in motion`);
  }

  // draw has the document hold the rows near the screen.
  function draw() {
    const above = -body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(above / rowHeight) - spare);
    const last = Math.min(list.length, Math.ceil((above + innerHeight) / rowHeight) + spare);
    const wanted = [];
    const at = focused ? list.indexOf(focused) : -1;
    if (at >= 0 && at < first) wanted.push(at);
    for (let i = first; i < last; i++) wanted.push(i);
    if (at >= Math.max(first, last)) wanted.push(at);
    const keep = new Set(wanted.map((i) => list[i]));
    for (const [key, parts] of mounted) if (!keep.has(key)) { parts.row.remove(); mounted.delete(key); }
    const nodes = [];
    let next = 0, gap = 0;
    const skip = (to) => { if (to > next) nodes.push(gapOf(gap++, to - next)); };
    for (const i of wanted) {
      skip(i);
      nodes.push(rowAt(i).row);
      next = i + 1;
    }
    skip(list.length);
    while (gaps.length > gap) gaps.pop().remove();
    let child = body.firstChild;
    for (const node of nodes) {
      if (node === child) child = child.nextSibling;
      else if (node.contains(document.activeElement)) { while (child && child !== node) { const gone = child; child = child.nextSibling; gone.remove(); } child = node.nextSibling; } else body.insertBefore(node, child);
    }
    const height = mounted.values().next().value?.row.offsetHeight;
    if (height && Math.abs(height - rowHeight) > 1) { rowHeight = height; draw(); }
  }

  function rowAt(i) {
    const key = list[i];
    let parts = mounted.get(key);
    if (!parts) {
      parts = rowOf(key);
      fill(parts, known.get(key).pool);
      mounted.set(key, parts);
    }
    parts.row.setAttribute('aria-rowindex', i + 2);
    return parts;
  }

  function gapOf(number, count) {
    const gap = gaps[number] ??= el('tr', { class: 'gap', 'aria-hidden': 'true' }, el('td', { colspan: 6 }));
    gap.firstChild.style.setProperty('height', `${count * rowHeight}px`);
    return gap;
  }

  // reveal scrolls to a row if it is not on the screen, and moves the focus to it.
  function reveal(i) {
    const key = focused = list[i];
    const header = table.tHead.rows[0].cells[0].getBoundingClientRect().bottom;
    const top = body.getBoundingClientRect().top + i * rowHeight;
    if (top < header) window.scrollBy(0, top - header);
    else if (top + rowHeight > innerHeight) window.scrollBy(0, top + rowHeight - innerHeight + 8);
    draw();
    mounted.get(key).name.focus({ preventScroll: true });
  }

  move = (by) => {
    if (list.length === 0) return;
    const at = list.indexOf(document.activeElement?.closest?.('tr')?.dataset.key);
    reveal(at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by)));
  };

  const stop = onChange((changed) => {
    let moved = false;
    for (const key of changed ?? new Set([...rows.keys(), ...known.keys()])) moved = take(key) || moved;
    if (moved) order();
    show();
  });
  let pending = 0;
  const scrolled = () => { pending ||= requestAnimationFrame(() => { pending = 0; draw(); }); };
  addEventListener('scroll', scrolled, { passive: true });
  addEventListener('resize', scrolled);
  body.addEventListener('focusin', (event) => { focused = event.target.closest('tr')?.dataset.key ?? ''; });
  body.addEventListener('focusout', (event) => { if (event.target.closest('tr')?.dataset.key === focused) focused = ''; });
  search.addEventListener('input', () => { chosen.text = search.value; show(); });
  for (const key of rows.keys()) take(key);
  order();
  if (rows.size > 0) show();
  requestAnimationFrame(() => {
    window.scrollTo(0, chosen.scroll);
    focused = chosen.focus;
    draw();
    mounted.get(chosen.focus)?.name.focus({ preventScroll: true });
  });
  return () => {
    stop();
    move = null;
    cancelAnimationFrame(pending);
    removeEventListener('scroll', scrolled);
    removeEventListener('resize', scrolled);
    chosen.scroll = window.scrollY;
    chosen.focus = document.activeElement?.closest?.('tr')?.dataset.key ?? '';
  };
}

// remember has the fleet come back to a pool.
export function remember(pool) { chosen.focus = keyOf(pool); }
