import { el } from './dom.js';
import { rows, onChange, isPool, keyOf } from './live.js';
import { linkOf } from './fleet.js';
import { taskCard } from './task.js';
import { count, plural } from './words.js';

const topics = [['approval', 'Approvals', 'A version is ready and waits for your approval.'],
  ['drain', 'Blocked drains', 'PodDisruptionBudgets hold pods of nodes that are being replaced.'],
  ['permission', 'Denied permissions', 'The identity of the manager may not make a call to AWS.'],
  ['other', 'Other', 'Slipway cannot go on without a change that only you can make.']];

// most bounds the cards of a topic. The fleet lists all pools.
const most = 50;

// tasks returns everything that waits for a human, the oldest first.
export function tasks() {
  const all = [];
  for (const row of rows.values()) {
    if (isPool(row)) for (const task of row.tasks ?? []) all.push({ task, row });
    if (row.kind === 'Provisioner') for (const problem of row.problems ?? []) if (problem.needsHuman) all.push({ task: { ...problem, topic: 'other' }, row });
  }
  return all.sort((a, b) => String(a.task.since ?? '').localeCompare(String(b.task.since ?? '')) || keyOf(a.row).localeCompare(keyOf(b.row)));
}

export function inbox(main, announce) {
  const heading = el('h1', { tabindex: -1 }, 'Inbox');
  const content = el('div', { class: 'inbox' });
  main.append(el('div', { class: 'head' }, heading), content);
  let shown = '';
  function show() {
    const all = tasks();
    const now = JSON.stringify(all.map(({ task, row }) => [keyOf(row), task]));
    if (now === shown) return;
    shown = now;
    const focused = document.activeElement?.dataset?.key;
    content.replaceChildren(...topics.map(([topic, title, text]) => {
      const some = all.filter(({ task }) => task.topic === topic);
      if (some.length === 0) return null;
      const section = el('section', { 'aria-label': title }, el('h2', {}, title, ' ', el('span', { class: 'count' }, count(some.length))), el('p', { class: 'muted' }, text));
      for (const { task, row } of some.slice(0, most)) {
        const link = isPool(row) ? linkOf(row) : '#/provisioner';
        section.append(taskCard(task, el('a', { href: link, class: 'poolname', 'data-key': keyOf(row) + task.reason }, row.namespace ? `${row.namespace} / ${row.name}` : row.name)));
      }
      if (some.length > most) section.append(el('p', { class: 'muted' }, `${count(some.length - most)} more. The fleet lists them first.`));
      return section;
    }).filter(Boolean));
    if (all.length === 0) content.append(el('div', { class: 'empty' }, el('p', {}, 'Nothing waits for you.'), el('p', { class: 'muted' }, 'Approvals, blocked drains, denied permissions and other problems that need a human appear here.')));
    if (focused) content.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    announce(`${plural(all.length, 'task')} in the inbox`);
  }
  show();
  return onChange(show);
}
