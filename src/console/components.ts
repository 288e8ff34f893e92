/** Components of console pages: tabs, tables, pages of lists, filters, dialogs, numbers, dates and roles. */
import { html } from 'hono/html'
import type { ChangingList } from '../contracts/changes.ts'
import { atLeast, GRANTABLE_ROLES, type Role } from '../contracts/roles.ts'
import { icon } from '../pages/icons.ts'
import { card, inputField, selectField, type Content, type Option } from '../pages/parts.ts'
import type { PageContext } from './context.ts'
import { dateLabel, formatNumber, momentLabel } from './format.ts'
import { pager, rowCount } from './pager.ts'

export const emptyState = (title: string, body: Content, action?: Content) =>
  html`<div class="empty">
    <p class="empty-title">${title}</p>
    <p>${body}</p>
    ${action && html`<div class="actions">${action}</div>`}
  </div>`

/** Of a list with filters: there may be others. Whose they are is not a filter, and stays. */
export const noMatch = (c: PageContext, noun: string) => {
  const whose = c.req.query('all') === 'true' ? '?all=true' : ''
  return emptyState(
    `No matching ${noun}`,
    'Try different filters.',
    html`<a href="${new URL(c.req.url).pathname}${whose}">Show all ${noun}</a>`,
  )
}

export type Tab = { href: string; label: string; isCurrent: boolean; count?: number | string }

/** Pages that share one place. Links, not ARIA tabs: each is a page of its own, with an address. Two bars on a page need two labels. */
export const tabBar = (tabs: readonly Tab[], label = 'Tabs') =>
  html`<nav class="tabs" aria-label="${label}">
    ${tabs.map(({ href, label, isCurrent, count }) => html`<a href="${href}" ${isCurrent && html`aria-current="page"`}>${label}${count !== undefined && html` <span class="tab-count">${count}</span>`}</a>`)}
  </nav>`

type Stat = {
  label: string
  value: Content
  /** A sentence, or a strip, below the number. */
  note?: Content
  /** The page with the rows behind the number. */
  href?: string
}

/** Words in the place of a number: in its size they would take three lines. */
const isWords = (value: Content): boolean => typeof value === 'string' && !/\d/.test(value)

/** Numbers that say how something is. */
export const stats = (label: string, numbers: readonly (Stat | false)[]) =>
  html`<dl class="facts" aria-label="${label}">
    ${numbers.map(
      (one) =>
        one &&
        html`<div class="fact">
          <dt>${one.href === undefined ? one.label : html`<a href="${one.href}">${one.label}</a>`}</dt>
          <dd ${isWords(one.value) && html`class="fact-words"`}>${typeof one.value === 'number' ? formatNumber(one.value) : one.value}</dd>
          ${one.note && html`<dd class="note">${one.note}</dd>`}
        </div>`,
    )}
  </dl>`

/**
 * Nothing is cut off: what does not fit takes a second line. On a phone the rows become cards.
 * Changing `display` takes a table's meaning away from screen readers, so the roles are set explicitly.
 */
export const table = (caption: string, columns: readonly string[], rows: readonly (readonly Content[])[]) => {
  const cellStarts = columns.map(
    (column) => html`<td role="cell" data-label="${column.startsWith('(') ? '' : column}"><div class="cell">`,
  )
  return html`<table role="table" class="columns-${columns.length}">
    <caption class="unseen">${caption}</caption>
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map((column) => html`<th role="columnheader" scope="col">${column.startsWith('(') ? html`<span class="unseen">${column.slice(1, -1)}</span>` : column}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        (cells) => html`<tr role="row">
          ${cells.map((cell, at) => html`${cellStarts[at]}${typeof cell === 'number' ? formatNumber(cell) : cell}</div></td>`)}
        </tr>`,
      )}
    </tbody>
  </table>`
}

/** A form that is sent as an address. */
export const addressForm = (c: PageContext, label: string, fields: Content, submit = 'Filter') => {
  const { pathname, search } = new URL(c.req.url)
  return html`<form method="get" action="${pathname}" class="filters" role="search" aria-label="${label}">
    ${fields}
    <div class="filters-send">
      <button type="submit" class="button button-quiet">${submit}</button>
      ${c.req.method === 'GET' && search !== '' && html`<a href="${pathname}">Clear</a>`}
    </div>
  </form>`
}

/** The filters of a list. On a phone they are folded, unless one of them is set. */
export const filterForm = (c: PageContext, label: string, fields: Content) => {
  const isSet = Object.keys(c.req.query()).some((name) => !name.startsWith('cursor'))
  return html`<details class="more filters-fold" ${isSet && html`open data-set`}>
    <summary>${label}</summary>
    ${addressForm(c, label, fields)}
  </details>`
}

type List = {
  title?: string
  /** What is listed, in the plural; of a list with filters. */
  noun?: string
  filters?: Content
  isFiltered?: boolean
  caption: string
  columns: readonly string[]
  rows: readonly (readonly Content[])[]
  /** Instead of no rows, where no filter is set; left out where there always are some. */
  empty?: Content
  /** The cursor of the next page; left out of a list without pages. */
  next?: string | undefined
  /** Rows of all pages. */
  total?: number | undefined
  /** Seconds, of what was read from a standby. */
  age?: number | undefined
  after?: Content
  /** Lists that it shows: when one of them changes while the page is open, it is shown anew. */
  changes?: ListNames | undefined
}

/** A card with a list: its filters, its table or what is said instead of an empty one, and its pager. */
export function listCard(c: PageContext, list: List) {
  const { title, noun = 'rows', filters, caption, columns, rows, after, changes } = list
  const empty = list.isFiltered || list.empty === undefined ? noMatch(c, noun) : list.empty
  const body = html`${filters && filterForm(c, `Filter ${noun}`, filters)}
    ${rows.length === 0 ? empty : table(caption, columns, rows)} ${'next' in list ? pager(c, rows.length, { next_cursor: list.next, total: list.total, age_seconds: list.age }) : rowCount(rows.length)} ${after}`
  const shown =
    title === undefined
      ? html`<div class="card card-list">${body}</div>`
      : card(title, body, undefined, 'card-list')
  return changes === undefined ? shown : changing('list', changes, shown)
}

type ListNames = ChangingList | readonly [ChangingList, ...ChangingList[]]

/** A part of a page that is shown anew when one of these lists changes; without the script it stays as it is. */
export const changing = (id: string, lists: ListNames, part: Content) =>
  html`<div id="${id}" class="changing" data-changes="${[lists].flat().join(' ')}">${part}</div>`

type FilterSelect = {
  name: string
  label: string
  value: string | undefined
  all: string
  options: readonly Option[]
  /** The label of a value that is no longer among the options. */
  missing?: string | undefined
  id?: string | undefined
}

export const filterSelect = ({ all, value = '', options, missing, ...field }: FilterSelect) =>
  selectField({ ...field, value, options: filterOptions({ all, value, options, missing }) })

/** The first means no filter. The current value stays selected, even when it is not among the options. */
export function filterOptions({
  all,
  value = '',
  options,
  missing = value,
}: Pick<FilterSelect, 'all' | 'value' | 'options' | 'missing'>): readonly Option[] {
  const isKnown = value === '' || options.some((one) => one.value === value)
  return [{ value: '', label: all }, ...options, ...(isKnown ? [] : [{ value, label: missing }])]
}

/** `from` may be a moment where a list takes one. */
export const dayFilters = ({ from = '', to = '' }: { from?: string | undefined; to?: string | undefined }) =>
  html`${inputField({ name: 'from', label: 'From (UTC)', type: from.includes('T') ? 'datetime-local' : 'date', value: from.slice(0, 16) })}
    ${inputField({ name: 'to', label: 'To (UTC)', type: 'date', value: to })}`

/** What administrators may switch between: their own, or those of all members. */
export const ownerFilter = (isAll: boolean, noun: string) =>
  selectField({
    name: 'all',
    label: 'Show',
    value: String(isAll),
    options: [
      { value: 'false', label: `My ${noun}` },
      { value: 'true', label: `All ${noun}` },
    ],
  })

export const labelOptions = <Value extends string>(
  values: readonly Value[],
  labels: Readonly<Record<Value, string>>,
): Option[] => values.map((value) => ({ value, label: labels[value] }))

export const memberOptions = (
  members: readonly { user_id: string; name: string; email: string }[],
): Option[] => members.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} (${email})` }))

type Dialog = {
  title: Content
  content: Content
  /** Whether the content has its own Cancel, beside the button that acts. */
  hasCancel?: true
  /** Of the button that opens it: what the page is for. */
  isMain?: true
  /** The key that opens it, where the page has keys. */
  key?: string
}

/**
 * A button that opens a modal dialog: the browser does it, with or without scripts, keeps the focus inside, and gives it
 * back afterwards. A click beside it does not close it, because that would lose what was typed.
 */
export const dialog = (
  id: string,
  label: Content,
  { title, content, hasCancel, isMain, key }: Dialog,
  name?: string,
) =>
  html`<button type="button" class="button ${isMain ? 'button-main' : 'button-quiet button-small'}" commandfor="${id}" command="show-modal" aria-haspopup="dialog" ${name && html`aria-label="${name}"`} ${key && html`data-key="${key}"`}>${label}</button>
    <dialog id="${id}" aria-labelledby="${id}-title" class="window">
      <div class="window-head">
        <h2 id="${id}-title">${title}</h2>
        <button type="button" class="button-bare" commandfor="${id}" command="close" aria-label="Close" autofocus>${icon('close')}</button>
      </div>
      ${content} ${!hasCancel && html`<div class="window-foot">${cancelButton(id)}</div>`}
    </dialog>`

export const cancelButton = (dialogId: string) =>
  html`<button type="button" class="button button-quiet" commandfor="${dialogId}" command="close">Cancel</button>`

/** A value to copy. The script shows the button. */
export const copyable = (id: string, value: string, label: string) =>
  html`<div class="copyable">
    <pre tabindex="0" aria-label="${label}"><code id="${id}">${value}</code></pre>
    <button type="button" class="button button-quiet button-small" data-copy="${id}" hidden>Copy</button>
  </div>`

/** One entry of a `<dl class="pairs">`. */
export const pair = (term: string, value: Content) => html`<div><dt>${term}</dt><dd>${value}</dd></div>`

/** Event types and error codes are one long word to a browser; this lets lines break after a separator. */
export const breakable = (word: string, separator: '.' | '_') =>
  word.split(separator).map((part, at) => html`${at > 0 && html`${separator}<wbr />`}${part}`)

/** Without its seconds. */
const toTheMinute = (moment: string): string => moment.replace(/:\d\d UTC$/, ' UTC')

/** How long ago, or when to come. The script says it and keeps it true; without it, the time itself. To the second on hover. */
export const time = (iso: string) => {
  const moment = momentLabel(iso)
  return html`<time datetime="${iso}" title="${moment}" data-relative>${toTheMinute(moment)}</time>`
}

/** When something is due that waits for its turn, and not how long ago it was. */
export const timeToCome = (iso: string, now: Date) => (Date.parse(iso) > now.getTime() ? time(iso) : 'now')

/** For sentences such as "until …". The script converts it to the reader's time zone. */
export const exactTime = (iso: string) => {
  const moment = momentLabel(iso)
  return html`<time datetime="${iso}" title="${moment}">${toTheMinute(moment)}</time>`
}

/** The time of day, where the day stands above it. */
export const timeOfDay = (iso: string) => {
  const moment = momentLabel(iso)
  return html`<time datetime="${iso}" title="${moment}" data-minute>${toTheMinute(moment).replace(/^.*, /, '')}</time>`
}

export const day = (iso: string) =>
  html`<time datetime="${iso}" title="${momentLabel(iso)}" data-day>${dateLabel(iso)}</time>`

export const ROLE_LABELS: Record<Role, { label: string; about: string }> = {
  member: { label: 'Member', about: 'Joined by email domain; same permissions as a viewer' },
  viewer: { label: 'Viewer', about: 'Can view and query' },
  developer: { label: 'Developer', about: 'Can also create and configure' },
  admin: { label: 'Admin', about: 'Can also manage members and agents' },
  owner: { label: 'Owner', about: 'Full access' },
}

/** The roles that somebody with this role can grant. */
export const roleOptions = (own: Role) =>
  GRANTABLE_ROLES.filter((role) => atLeast(own, role)).map((value) => ({
    value,
    label: ROLE_LABELS[value].label,
  }))

export const roleBadge = (role: Role) =>
  html`<span class="badge badge-${role}">${ROLE_LABELS[role].label}</span>`

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
