/** The pieces pages are made of. All text goes through `html`, which escapes it. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type { ServiceError } from '../contracts/errors.ts'
import type { Role } from '../contracts/roles.ts'
import { icon } from './icons.ts'
import { visitOf, type ConsoleEnv } from './visit.ts'

type C = Context<ConsoleEnv>
export type Html = ReturnType<typeof html>
export type Content = Html | string | number | false | null | undefined | readonly Content[]

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

type FieldWords = {
  name: string
  label: string
  hint?: Content
  problem?: ServiceError | undefined
  /** Where two forms of one page have a field of the same name. */
  id?: string
}

/** After a refusal the first field of the form gets the focus, so that the page opens where the trouble is. */
type InputField = FieldWords & {
  type?: 'text' | 'email' | 'password' | 'search' | 'date'
  value?: string
  autocomplete?: string
  required?: boolean
  minlength?: number
  maxlength?: number
  placeholder?: string
  className?: string
}

export function inputField(field: InputField) {
  const { id, described, problems } = fieldParts(field)
  return html`<div class="field ${field.className}">
    <label for="${id}">${field.label}</label>
    <input
      id="${id}"
      name="${field.name}"
      type="${field.type ?? 'text'}"
      value="${field.value ?? ''}"
      ${field.autocomplete && html`autocomplete="${field.autocomplete}"`}
      ${field.minlength && html`minlength="${field.minlength}"`}
      ${field.maxlength && html`maxlength="${field.maxlength}"`}
      ${field.placeholder && html`placeholder="${field.placeholder}"`}
      ${field.required && html`required`}
      ${problems.length > 0 && html`aria-invalid="true"`}
      ${field.problem && html`autofocus`}
      ${described.attribute}
    />
    ${described.text}
  </div>`
}

export type Option = { value: string; label: string; disabled?: boolean }

export function selectField(field: FieldWords & { value: string; options: readonly Option[] }) {
  const { id, described } = fieldParts(field)
  return html`<div class="field">
    <label for="${id}">${field.label}</label>
    <span class="select"><select id="${id}" name="${field.name}" ${described.attribute}>
      ${field.options.map(
        ({ value, label, disabled }) =>
          html`<option value="${value}" ${value === field.value && html`selected`} ${disabled && html`disabled`}>
            ${label}
          </option>`,
      )}
    </select>${icon('down')}</span>
    ${described.text}
  </div>`
}

export const choice = (
  kind: 'checkbox' | 'radio',
  name: string,
  value: string,
  isOn: boolean,
  label: Content,
  note?: Content,
) =>
  html`<label class="choice">
    <input type="${kind}" name="${name}" value="${value}" ${isOn && html`checked`} />
    <span class="choice-text"><span>${label}</span>${note && html`<span class="note">${note}</span>`}</span>
  </label>`

function fieldParts({ id: given, name, hint, problem }: FieldWords) {
  const id = given ?? name
  const problems = problemsOf(problem, name)
  const attribute = (hint || problems.length > 0) && html`aria-describedby="${id}-about"`
  const text =
    attribute &&
    html`<div id="${id}-about" class="about">
      ${problems.map((said) => html`<p class="field-problem">${said}</p>`)} ${hint && html`<p class="note">${hint}</p>`}
    </div>`
  return { id, problems, described: { attribute, text } }
}

/** Problems of a request begin with the name of the field they are about. */
const FIELD = /^`?([a-z_]+)[^\s:`]*`?:?\s+/

const problemsOf = (error: ServiceError | undefined, name: string): string[] =>
  (error?.problems ?? [])
    .filter((said) => FIELD.exec(said)?.[1] === name)
    .map((said) => said.replace(FIELD, ''))

/** Said above a form that was refused. Problems of fields it shows stand at the fields. */
export function problemNotice(error: ServiceError | undefined, shown: readonly string[] = []) {
  if (!error) return null
  const elsewhere = (error.problems ?? []).filter((said) => !shown.includes(FIELD.exec(said)?.[1] ?? ''))
  return notice(
    'problem',
    html`<p><strong>${error.message}</strong></p>
      ${elsewhere.length > 0 && html`<ul>${elsewhere.map((said) => html`<li>${said}</li>`)}</ul>`}
      ${error.hint && html`<p>${error.hint}</p>`}
      ${error.retryAfterSeconds && html`<p>Try again in ${waitWords(error.retryAfterSeconds)}.</p>`}`,
  )
}

const waitWords = (seconds: number): string =>
  seconds < 90 ? `${Math.ceil(seconds)} seconds` : `${Math.ceil(seconds / 60)} minutes`

export const notice = (kind: 'done' | 'problem' | 'info', body: Content) =>
  html`<div class="notice notice-${kind}" role="${kind === 'problem' ? 'alert' : 'status'}">
    ${icon(kind === 'done' ? 'check' : 'alert')}
    <div>${body}</div>
  </div>`

export const button = (label: Content, kind: 'main' | 'quiet' | 'danger' = 'main') =>
  html`<button type="submit" class="button button-${kind}">${label}</button>`

export const linkButton = (href: string, label: Content, kind: 'main' | 'quiet' = 'main') =>
  html`<a href="${href}" class="button button-${kind}">${label}</a>`

export const card = (title: string, body: Content, lead?: Content) =>
  html`<section class="card" aria-labelledby="${slug(title)}">
    <h2 id="${slug(title)}">${title}</h2>
    ${lead && html`<p class="lead">${lead}</p>`} ${body}
  </section>`

const slug = (title: string): string => `about-${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`

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
          ${cells.map((cell, at) => html`<td role="cell" data-label="${columns[at]?.startsWith('(') ? '' : columns[at]}">${cell}</td>`)}
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
export const opens = (id: string, label: Content, body: { title: string; content: Content }, name?: string) =>
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

export const badge = (label: string, kind: 'on' | 'off' | 'wait') =>
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
