/** What there is to search in the tables of a data source, as a checklist. */
import { html } from 'hono/html'
import type * as z from 'zod'
import type { listTables } from '../../../contracts/data-sources.ts'
import { icon } from '../../../pages/icons.ts'
import { card, type Content } from '../../../pages/parts.ts'
import { badge, copyable } from '../../components.ts'

type Tables = z.output<typeof listTables.output>
type Table = Tables['tables'][number]
type Vector = Table['vectors'][number]

export function tablesCard({ tables, more }: Tables) {
  const searchable = tables.filter(({ vectors }) => vectors.length > 0)
  const others = tables.filter(({ vectors }) => vectors.length === 0)
  return card(
    'Tables',
    html`${searchable.map(tableSection)}
      ${searchable.length === 0 && nothingToSearch(tables.length)}
      ${others.length > 0 && html`<p class="note">Without a vector column: ${others.map(({ table }, at) => html`${at > 0 && ', '}<code>${table}</code>`)}.</p>`}
      ${more && html`<p class="note">There are more tables than are listed here.</p>`}`,
    'Read from the database now: which tables have vectors, of which size, and what is missing.',
  )
}

const nothingToSearch = (count: number) =>
  html`<div class="empty">
    <p class="empty-title">${count === 0 ? 'This database has no tables' : 'No table has a vector column'}</p>
    <p>A table is searched by a column of the type <code>vector(N)</code>, filled with embeddings of one model. Create one, and reload this page:</p>
    ${copyable('create-table', 'create table articles (id bigint primary key, title text, body text, embedding vector(384));', 'Statement that creates a table with a vector column')}
  </div>`

const tableSection = (table: Table, at: number) =>
  html`<section class="entry" aria-labelledby="table-${at}">
    <h3 id="table-${at}"><code>${table.table}</code> ${table.kind !== 'table' && badge(table.kind, 'off')} ${table.configured ? badge('Searched', 'on') : badge('Not searched', 'wait')}</h3>
    ${table.vectors.map((vector, nth) => checklist(table, vector, `${at}-${nth}`))}
  </section>`

const NUMBER = new Intl.NumberFormat('en')

function checklist(table: Table, vector: Vector, id: string) {
  const rows = table.rows ?? 0
  return html`<ul class="checks">
    ${check(true, html`Vector column <code>${vector.name}</code>`)}
    ${dimensionsCheck(vector)}
    ${table.rows === null ? check(null, 'Rows are not counted') : check(rows > 0 && !vector.without_vector, html`${table.is_estimated && 'About '}${NUMBER.format(rows)} ${rows === 1 ? 'row' : 'rows'}${vectorless(table, vector)}`)}
    ${indexCheck(table, vector, id)}
  </ul>`
}

function dimensionsCheck({ dimensions, models, name }: Vector) {
  if (dimensions === null) {
    return check(
      false,
      html`It takes vectors of any size. Set one: <code>alter table … alter column ${name} type vector(N)</code>`,
    )
  }
  return models.length > 0
    ? check(
        true,
        html`${dimensions} dimensions, matches ${models.map((model, at) => html`${at > 0 && ', '}<code>${model}</code>`)}`,
      )
    : check(false, `${dimensions} dimensions: no configured model has as many. The operator can add one.`)
}

const vectorless = ({ rows }: Table, { without_vector }: Vector): Content =>
  without_vector !== null && without_vector > 0 && rows !== null && rows > 0
    ? `, ${NUMBER.format(without_vector)} of them without a vector, which are never found`
    : ''

/** Below this, exact search is as fast. */
const INDEXED_FROM_ROWS = 5_000
/** pgvector indexes a `vector` up to this many dimensions. */
const INDEXED_DIMENSIONS_MAX = 2_000

function indexCheck({ table, kind, rows }: Table, { name, index, metric, dimensions }: Vector, id: string) {
  if (index !== null)
    return check(
      true,
      html`Index <code>${index}</code>${metric !== null && `, by ${metric.replace('_', ' ')}`}`,
    )
  if (kind !== 'table') return check(null, 'A view has no index of its own')
  if (dimensions !== null && dimensions > INDEXED_DIMENSIONS_MAX)
    return check(null, 'No index: too many dimensions for one')
  if ((rows ?? 0) < INDEXED_FROM_ROWS)
    return check(null, `No index; below ${NUMBER.format(INDEXED_FROM_ROWS)} rows none is needed`)
  return check(
    false,
    html`No index, so every question reads all rows ${copyable(`index-${id}`, `create index on ${quoted(table)} using hnsw (${quoted(name)} vector_cosine_ops);`, 'Statement that creates the index')}`,
  )
}

const quoted = (name: string): string =>
  name
    .split('.')
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join('.')

/** Null: neither good nor bad. */
const check = (isGood: boolean | null, text: Content) =>
  html`<li class="check check-${isGood === null ? 'note' : isGood ? 'good' : 'bad'}">
    <span class="check-mark" aria-hidden="true">${isGood === null ? '' : icon(isGood ? 'check' : 'alert')}</span>
    <div>${isGood === false && html`<span class="unseen">Problem: </span>`}${text}</div>
  </li>`
