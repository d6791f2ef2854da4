import { el, code } from './dom.js';
import { when, words } from './words.js';

// taskCard shows something that waits for a human: what is wrong, what it means for nodes, what to do.
export function taskCard(task, subject) {
  return el('article', { class: `card task ${task.topic}` },
    el('div', { class: 'cardhead' }, subject ?? null, el('h3', {}, words(task.reason)), task.since ? el('span', { class: 'since' }, when(task.since)) : null),
    task.message && !task.drains ? el('p', { class: 'message' }, task.message) : null,
    ...(task.drains ?? []).map((drain) => el('p', { class: 'message' },
      `Node ${drain.node || drain.instance} waits for `, ...drain.budgets.map((b, i) => [i ? ', ' : '', el('b', {}, `PodDisruptionBudget ${b.namespace}/${b.name}`), ` (${b.pods} pods)`]),
      drain.until ? ['. Its instance is terminated ', when(drain.until), ' at the latest'] : '', '.')),
    el('dl', { class: 'advice' },
      task.nodes ? [el('dt', {}, 'Nodes'), el('dd', {}, task.nodes)] : null,
      task.remedy ? [el('dt', {}, 'What to do'), el('dd', {}, task.remedy)] : null),
    task.policy ? el('div', {}, el('p', { class: 'label' }, 'Policy to add to the role of the manager'), code(task.policy, 'the policy')) : null,
    task.command ? el('div', {}, el('p', { class: 'label' }, 'Command'), code(task.command, 'the command')) : null);
}
