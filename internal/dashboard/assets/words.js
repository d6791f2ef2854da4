import { el } from './dom.js';

// words turns a reason such as WaitingForASG into text: Waiting for ASG.
export function words(reason) {
  const parts = String(reason ?? '').replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2').split(' ');
  return parts.map((part, i) => (i === 0 || /^[A-Z0-9]{2,}$/.test(part) ? part : part.toLowerCase())).join(' ');
}

const numbers = new Intl.NumberFormat('en');
export const count = (n) => numbers.format(n ?? 0);
export const plural = (n, one, many = one + 's') => `${count(n)} ${n === 1 ? one : many}`;

const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];

// span returns a duration with one unit, or two where that says more.
export function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  for (let i = 0; i < units.length; i++) {
    const [size, unit] = units[i];
    if (s < size && size > 1) continue;
    const whole = Math.floor(s / size);
    const rest = i + 1 < units.length ? Math.floor((s % size) / units[i + 1][0]) : 0;
    return whole < 3 && rest > 0 && size > 60 ? `${whole} ${unit} ${rest} ${units[i + 1][1]}` : `${whole} ${unit}`;
  }
  return '0 s';
}

export function relative(iso) {
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  if (Number.isNaN(seconds)) return '';
  if (Math.abs(seconds) < 10) return 'now';
  return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
}

// when returns a time relative to now, which stays current, with the exact time as its title.
export function when(iso) {
  if (!iso || Number.isNaN(Date.parse(iso))) return null;
  return el('time', { datetime: iso, title: new Date(iso).toLocaleString(), 'data-relative': true }, relative(iso));
}

setInterval(() => {
  for (const time of document.querySelectorAll('time[data-relative]')) {
    const text = relative(time.getAttribute('datetime'));
    if (time.textContent !== text) time.textContent = text;
  }
}, 15000);

// State of a pool for the eye: its rank in the fleet, a class, and a label.
export function stateOf(pool) {
  const label = (task) => ({ approval: `Approve v${pool.pendingVersion}`, drain: 'Drain blocked' }[task?.topic] ?? words(task?.reason)) || 'Needs you';
  if (pool.needsHuman) return { rank: 0, tone: 'human', label: label((pool.tasks ?? []).find((t) => t.needsHuman)), group: 'human' };
  if ((pool.tasks ?? []).length > 0) return { rank: 1, tone: 'warn', label: label(pool.tasks[0]), group: 'moving' };
  if (pool.rollout?.active) return { rank: 2, tone: 'active', label: 'Rolling out', group: 'moving' };
  if (pool.state === 'Deleting') return { rank: 3, tone: 'quiet', label: 'Deleting', group: 'moving' };
  if (pool.state === 'Paused') return { rank: 4, tone: 'quiet', label: 'Paused', group: 'settled' };
  if ((pool.problems ?? []).length > 0 || pool.state === 'Pending') return { rank: 3, tone: 'active', label: words(pool.problems?.[0]?.reason ?? pool.state), group: 'moving' };
  return { rank: 5, tone: 'good', label: 'Settled', group: 'settled' };
}

// versionName returns the name of a version of a launch template.
export function versionName(version) {
  if (!version.number) return 'no version';
  return version.templateID ? `${version.templateID} v${version.number}` : `v${version.number}`;
}

// describeVersions is the text alternative of the bar of versions.
export function describeVersions(pool) {
  const versions = pool.versions ?? [];
  if (versions.length === 0) return 'No instances';
  return versions.map((v) => `${plural(v.instances, 'instance')} on ${v.number ? 'version ' + v.number : 'no version'}${v.wanted ? ', which is wanted' : ''}`).join('; ');
}

// summary is the one line that says most about a pool.
export function summary(pool) {
  const task = (pool.tasks ?? [])[0];
  if (task?.action) return `The manager may not call ${task.action}.`;
  if (task?.topic === 'approval') return `Version ${pool.pendingVersion} waits for approval: ${task.message.replace(/^.*?approv.*?: ("\d+": )?/, '')}`;
  if (task?.drains) return `PodDisruptionBudget ${task.drains[0].budgets[0].namespace}/${task.drains[0].budgets[0].name} holds ${task.drains[0].budgets[0].pods} pods of ${task.drains[0].node || task.drains[0].instance}`;
  if (task) return task.message || words(task.reason);
  if (pool.rollout?.active) return pool.rollout.cause || `${pool.rollout.percent} % replaced`;
  const problem = (pool.problems ?? [])[0];
  if (problem) return problem.message || words(problem.reason);
  return pool.instanceTypes || '';
}

// paint sets the segments of the bar of versions. Widths are shares, set by the CSSOM, which the content
// security policy allows.
export function paint(bar, pool) {
  const versions = (pool.versions ?? []).filter((v) => v.instances > 0);
  while (bar.children.length > versions.length) bar.lastChild.remove();
  let old = 0;
  versions.forEach((version, i) => {
    const segment = bar.children[i] ?? bar.appendChild(document.createElement('i'));
    segment.className = version.wanted ? 'wanted' : `old${Math.min(++old, 4)}`;
    segment.style.setProperty('flex-grow', version.instances);
  });
}

// versionLine is the legend of the bar: v7 9 · v6 3.
export function versionLine(pool) {
  const versions = pool.versions ?? [];
  if (versions.length === 0) return 'no instances';
  const shown = versions.slice(0, 4).map((v) => `${versionName(v)} × ${count(v.instances)}`);
  if (versions.length > 4) shown.push(`${versions.length - 4} more`);
  return shown.join('   ');
}
