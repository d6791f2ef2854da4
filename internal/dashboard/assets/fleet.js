import { el, setText } from './dom.js';
import { rows, onChange, isPool, keyOf } from './live.js';
import { count, describeVersions, paint, stateOf, summary, versionLine } from './words.js';

const filters = [['all', 'All pools'], ['human', 'Need you'], ['moving', 'In motion'], ['settled', 'Settled']];
// What the user chose stays while the tab is open.
const chosen = { filter: 'all', text: '', scroll: 0, focus: '' };

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
  const text = el('span', { class: 'oneline' });
  const row = el('tr', { 'data-key': key },
    el('th', { scope: 'row' }, el('div', { class: 'two' }, name, where)), el('td', {}, pill),
    el('td', {}, el('div', { class: 'two' }, bar, legend, alternative)), el('td', { class: 'number' }, ready), el('td', { class: 'detail' }, text));
  return { row, name, where, pill, bar, legend, alternative, ready, text };
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
  const text = summary(pool);
  setText(parts.text, text);
  parts.text.title = text;
  return state;
}

const haystack = (pool) => [pool.name, pool.namespace, pool.cluster, pool.kind, pool.instanceTypes, pool.state, pool.launchTemplateID,
  ...(pool.problems ?? []).map((p) => p.reason + ' ' + p.message)].join(' ').toLowerCase();

export function fleet(main, announce) {
  const search = el('input', { type: 'search', id: 'search', placeholder: 'Search name, namespace, cluster, reason', autocomplete: 'off', spellcheck: 'false', 'aria-keyshortcuts': '/' });
  search.value = chosen.text;
  const buttons = new Map(filters.map(([id, label]) => {
    const number = el('b', {}, '–');
    const button = el('button', { type: 'button', 'aria-pressed': String(chosen.filter === id), 'data-filter': id }, number, ' ' + label);
    button.addEventListener('click', () => { chosen.filter = id; show(); });
    return [id, { button, number }];
  }));
  const body = el('tbody');
  const empty = el('p', { class: 'empty' }, 'Waiting for the first answer.');
  const table = el('table', { class: 'fleet' }, el('caption', { class: 'hidden' }, 'Pools, those that need a human first'),
    el('thead', {}, el('tr', {}, ...['Pool', 'Status', 'Versions', 'Ready', 'What is going on'].map((text, i) => el('th', { scope: 'col', class: ['', '', '', 'number', 'detail'][i] }, text)))), body);
  main.append(
    el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Fleet'),
      el('div', { class: 'search' }, el('label', { for: 'search', class: 'hidden' }, 'Search pools'), search, el('kbd', { 'aria-hidden': 'true' }, '/'))),
    el('div', { class: 'filters', role: 'group', 'aria-label': 'Filter' }, ...[...buttons.values()].map((b) => b.button)),
    table, empty);

  const known = new Map(); // key → parts, state, text
  function take(key) {
    const pool = rows.get(key);
    const before = known.get(key);
    if (!pool || !isPool(pool)) {
      before?.parts.row.remove();
      return known.delete(key);
    }
    const parts = before?.parts ?? rowOf(key);
    const state = fill(parts, pool);
    known.set(key, { parts, state, text: haystack(pool), order: `${state.rank} ${pool.namespace} ${pool.name}` });
    return before?.order !== known.get(key).order;
  }

  function show() {
    const counts = { all: known.size, human: 0, moving: 0, settled: 0 };
    for (const { state } of known.values()) counts[state.group]++;
    for (const [id, { button, number }] of buttons) {
      setText(number, count(counts[id]));
      button.setAttribute('aria-pressed', String(chosen.filter === id));
    }
    const terms = chosen.text.toLowerCase().split(/\s+/).filter(Boolean);
    let visible = 0;
    for (const { parts, state, text } of known.values()) {
      const wanted = (chosen.filter === 'all' || chosen.filter === state.group) && terms.every((term) => text.includes(term));
      if (parts.row.hidden === wanted) parts.row.hidden = !wanted;
      if (wanted) visible++;
    }
    empty.hidden = visible > 0;
    setText(empty, known.size === 0 ? 'This cluster has no pools that you may see.' : 'No pool matches. Press Esc to clear the search.');
    table.hidden = visible === 0;
    const of = (n, what) => `${count(n)} ${n === 1 ? 'pool' : 'pools'} ${what}`;
    announce(terms.length > 0 ? of(visible, 'found') : `${of(counts.all, 'in all')}, ${count(counts.human)} need a human, ${count(counts.moving)} in motion`);
  }

  function order() {
    const focused = document.activeElement;
    const sorted = [...known.values()].sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0));
    let at = body.firstChild;
    for (const { parts } of sorted) {
      if (parts.row === at) at = at.nextSibling;
      else body.insertBefore(parts.row, at);
    }
    if (focused && focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
  }

  const stop = onChange((changed) => {
    let moved = false;
    for (const key of changed ?? new Set([...rows.keys(), ...known.keys()])) moved = take(key) || moved;
    if (moved) order();
    show();
  });
  search.addEventListener('input', () => { chosen.text = search.value; show(); });
  for (const key of rows.keys()) take(key);
  order();
  if (rows.size > 0) show();
  requestAnimationFrame(() => {
    window.scrollTo(0, chosen.scroll);
    known.get(chosen.focus)?.parts.name.focus({ preventScroll: true });
  });
  return () => {
    stop();
    chosen.scroll = window.scrollY;
    chosen.focus = document.activeElement?.closest?.('tr')?.dataset.key ?? '';
  };
}

// remember has the fleet come back to a pool.
export function remember(pool) { chosen.focus = keyOf(pool); }
