/** The pieces only console pages are made of: forms of a visit, tables, filters, people. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type { Role } from '../contracts/roles.ts'
import { icon } from '../pages/icons.ts'
import { linkButton, type Content } from '../pages/parts.ts'
import { visitOf, type ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>

/** A form about the organization it was shown for, whichever another tab has switched to meanwhile. */
export const form = (c: C, action: string, body: Content, className = '') =>
  personalForm(
    c,
    action,
    [html`<input type="hidden" name="organization" value="${visitOf(c).organization?.id ?? ''}" />`, body],
    className,
  )

/** A form about the person: it works on when they have just lost the organization of the page. */
export const personalForm = (c: C, action: string, body: Content, className = '') =>
  html`<form method="post" action="${action}" class="${className}">
    <input type="hidden" name="form_token" value="${visitOf(c).formToken}" />
    ${body}
  </form>`

/** For forms in lists: come back to the same page of the same filtered list. */
export function backField(c: C) {
  const { pathname, search } = new URL(c.req.url)
  const here = c.req.method === 'GET' ? pathname + search : ''
  return html`<input type="hidden" name="back" value="${here}" />`
}

export const emptyState = (title: string, body: Content, action?: Content) =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    <p>${body}</p>
    ${action && html`<div class="actions">${action}</div>`}
  </div>`

/**
 * On a phone the rows become cards. Changing `display` takes a table's meaning away from screen readers, so the
 * roles are said aloud.
 */
export const table = (caption: string, columns: readonly string[], rows: readonly (readonly Content[])[]) =>
  html`<table role="table">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map((column) => html`<th role="columnheader" scope="col">${column.startsWith('(') ? html`<span class="unseen">${column.slice(1, -1)}</span>` : column}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (cells) => html`<tr role="row">
          ${cells.map((cell, at) => html`<td role="cell" data-label="${columns[at]?.startsWith('(') ? '' : columns[at]}"><div class="cell">${cell}</div></td>`)}
        </tr>`,
      )}
    </tbody>
  </table>`

/** Links to the next page and back to the first; filters stay in the address. */
export function pager(c: C, next: string | undefined, name = 'cursor') {
  const url = new URL(c.req.url)
  const isFirst = !url.searchParams.has(name)
  if (next === undefined && isFirst) return null
  const first = new URL(url)
  first.searchParams.delete(name)
  const following = new URL(url)
  if (next !== undefined) following.searchParams.set(name, next)
  return html`<nav class="pager" aria-label="Pages">
    ${!isFirst && linkButton(first.pathname + first.search, 'First page', 'quiet')}
    ${next !== undefined && linkButton(following.pathname + following.search, 'Next page', 'quiet')}
  </nav>`
}

export const filters = (c: C, label: string, fields: Content) => {
  const { pathname, search } = new URL(c.req.url)
  return html`<form method="get" action="${pathname}" class="filters" role="search" aria-label="${label}">
    ${fields}
    <div class="filters-send">
      <button type="submit" class="button button-quiet">Filter</button>
      ${c.req.method === 'GET' && search !== '' && html`<a href="${pathname}">Clear</a>`}
    </div>
  </form>`
}

/** A button that opens a small window of the page itself; the browser does it, with or without scripts. */
export const opens = (
  id: string,
  label: Content,
  body: { title: Content; content: Content },
  name?: string,
) =>
  html`<button type="button" class="button button-quiet button-small" popovertarget="${id}" ${name && html`aria-label="${name}"`}>${label}</button>
    <div id="${id}" popover role="dialog" aria-labelledby="${id}-title" class="window">
      <div class="window-head">
        <h2 id="${id}-title">${body.title}</h2>
        <button type="button" class="button-bare" popovertarget="${id}" popovertargetaction="hide" aria-label="Close" autofocus>${icon('close')}</button>
      </div>
      ${body.content}
    </div>`

/** A value to take along. The button shows itself only where scripts run. */
export const copyable = (id: string, value: string, label: string) =>
  html`<div class="copyable">
    <pre tabindex="0" aria-label="${label}"><code id="${id}">${value}</code></pre>
    <button type="button" class="button button-quiet button-small" data-copy="${id}" hidden>Copy</button>
  </div>`

const SHOWN = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' })
const SHOWN_DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

/** In UTC; the script turns it into the reader's own time. */
export const time = (iso: string) => html`<time datetime="${iso}">${SHOWN.format(new Date(iso))} UTC</time>`
export const day = (iso: string) =>
  html`<time datetime="${iso}" data-day>${SHOWN_DAY.format(new Date(iso))}</time>`

export const ROLE_WORDS: Record<Role, { label: string; about: string }> = {
  member: { label: 'Member', about: 'Joined by e-mail domain; may do what viewers do' },
  viewer: { label: 'Viewer', about: 'Reads and asks' },
  developer: { label: 'Developer', about: 'Also builds and configures' },
  admin: { label: 'Admin', about: 'Also manages members and agents' },
  owner: { label: 'Owner', about: 'May do everything' },
}

export const roleBadge = (role: Role) =>
  html`<span class="badge badge-${role}">${ROLE_WORDS[role].label}</span>`

export const badge = (label: string, kind: 'on' | 'off' | 'wait' | 'bad') =>
  html`<span class="badge badge-${kind}">${label}</span>`

export const initials = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => [...word][0] ?? '')
    .join('')
    .toUpperCase()

export const person = (name: string, about: Content, mark?: Content) =>
  html`<div class="person">
    <span class="avatar" aria-hidden="true">${initials(name)}</span>
    <div class="person-text"><span class="person-name">${name} ${mark}</span><span class="note">${about}</span></div>
  </div>`
