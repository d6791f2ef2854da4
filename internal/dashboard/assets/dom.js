// Elements are only ever built here, from tag names and attributes of this program. Texts of the cluster
// are set as text nodes. The content security policy refuses everything else.

// Characters that are not visible, or that change the direction of the text after them, could make a
// name look like another one.
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function clean(text) {
  return String(text ?? '').replace(invisible, '\ufffd');
}

const attributes = new Set(['class', 'href', 'type', 'id', 'for', 'title', 'role', 'tabindex', 'scope', 'datetime', 'colspan',
  'placeholder', 'autocomplete', 'spellcheck', 'max', 'value', 'open', 'hidden', 'name', 'lang', 'maxlength']);

// el returns an element. Attributes that are not listed, other than aria-* and data-*, are a mistake.
export function el(tag, set = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined || value === null || value === false) continue;
    if (!attributes.has(name) && !name.startsWith('aria-') && !name.startsWith('data-')) throw new Error('attribute ' + name);
    if (name === 'href' && !String(value).startsWith('#')) throw new Error('a link leads out of the page');
    element.setAttribute(name, value === true ? '' : clean(value));
  }
  put(element, children);
  return element;
}

// put appends elements, and anything else as text.
export function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : clean(child));
  }
}

// setText sets the text of an element if it differs, so that nothing is laid out again without need.
export function setText(element, text) {
  const wanted = clean(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

// copyButton returns a button that copies a text.
export function copyButton(text, what) {
  const button = el('button', { type: 'button', class: 'copy' }, 'Copy', el('span', { class: 'hidden' }, ' ' + what));
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.firstChild.data = 'Copied';
    } catch {
      button.firstChild.data = 'Select and copy';
    }
    setTimeout(() => { button.firstChild.data = 'Copy'; }, 2000);
  });
  return button;
}

// code returns a block of code that can be copied.
export function code(text, what) {
  return el('div', { class: 'code' }, el('pre', { tabindex: 0, role: 'region', 'aria-label': what }, el('code', {}, text)), copyButton(text, what));
}

// stacked has a phone show the cells of a table below one another, each with the name of its column. The roles are
// explicit, because some browsers drop those of cells that are not laid out as a table.
export function stacked(table) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const roles = (row, cell) => { row.setAttribute('role', 'row'); for (const one of row.cells) one.setAttribute('role', one.scope ? one.scope + 'header' : cell); };
  table.classList.add('stacked');
  table.setAttribute('role', 'table');
  for (const part of [table.tHead, ...table.tBodies]) part.setAttribute('role', 'rowgroup');
  roles(table.tHead.rows[0], 'columnheader');
  for (const row of table.tBodies[0].rows) {
    roles(row, 'cell');
    [...row.cells].forEach((cell, i) => { if (i > 0) cell.dataset.label = names[i]; });
  }
  return table;
}
