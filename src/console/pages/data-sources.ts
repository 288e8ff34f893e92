/** The list of data sources: all databases for those who build, what can be asked for everybody else. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { listAskableSources, listDataSources, type AskableSource } from '../../contracts/data-sources.ts'
import { inputField, linkButton, type Content } from '../../pages/parts.ts'
import { page } from '../layout.ts'
import { copyable, emptyState, filters, pager, table } from '../parts.ts'
import { hasRole, organizationOf, visitOf, type ConsoleEnv } from '../visit.ts'
import {
  configureLine,
  KIND_WORDS,
  pathOf,
  roleAndAbove,
  SAMPLE_CONFIGURATION,
  SOURCES_PATH,
  stateBadge,
  type Source,
} from './source-words.ts'

type C = Context<ConsoleEnv>

export const dataSourceListPages = () =>
  new Hono<ConsoleEnv>().get('/data-sources', (c) =>
    organizationOf(c) && hasRole(visitOf(c), 'developer') ? showAll(c) : showAskable(c),
  )

async function showAll(c: C) {
  const visit = visitOf(c)
  const { search, cursor } = readAddress(c)
  const { data_sources: sources, next_cursor } = await visit.call(listDataSources, { search, cursor })
  const isEmpty = sources.length === 0 && search === undefined && cursor === undefined
  return page(c, {
    title: 'Data sources',
    lead: `The databases of ${organizationOf(c).name}, and who may ask them.`,
    actions: html`${hasRole(visit, 'admin') && linkButton(`${SOURCES_PATH}/attach`, 'Attach a Postgres', 'quiet')}
    ${linkButton(`${SOURCES_PATH}/new`, 'New database')}`,
    body: isEmpty
      ? firstSteps(c)
      : listCard(
          c,
          search,
          sources.length > 0 &&
            table('Data sources, by name', ['Source', 'Kind', 'State', 'Search'], sources.map(sourceCells)),
          next_cursor,
        ),
  })
}

async function showAskable(c: C) {
  const { search, cursor } = readAddress(c)
  const { data_sources: sources, next_cursor } = await visitOf(c).call(listAskableSources, { search, cursor })
  const isEmpty = sources.length === 0 && search === undefined && cursor === undefined
  return page(c, {
    title: 'Data sources',
    lead: `What you may ask in ${organizationOf(c).name}, here or through an assistant.`,
    body: isEmpty
      ? emptyState(
          'There is nothing for you to ask yet',
          'Developers make data sources, and an owner or admin decides which roles may ask them. What you may ask will be listed here.',
        )
      : listCard(
          c,
          search,
          sources.length > 0 &&
            table(
              'Data sources you may ask, by name',
              ['Source', 'About', 'Filters'],
              sources.map(askableCells),
            ),
          next_cursor,
        ),
  })
}

// Filters stand in an address that people edit: what makes no sense is left out, not refused.
const readAddress = (c: C) => ({
  search: c.req.query('search')?.trim().slice(0, 120) || undefined,
  cursor: c.req.query('cursor'),
})

const listCard = (c: C, search: string | undefined, rows: Content, next: string | undefined) =>
  html`<div class="card card-list">
    ${filters(c, 'Filter data sources', inputField({ name: 'search', label: 'Name', type: 'search', value: search ?? '', maxlength: 120 }))}
    ${rows || emptyState('No data source matches', 'Try a shorter part of the name.', html`<a href="${SOURCES_PATH}">Show all</a>`)}
    ${pager(c, next)}
  </div>`

const nameCell = (id: string, name: string) =>
  html`<div class="two-lines"><a class="subject" href="${pathOf(id)}">${name}</a><code class="note">${id}</code></div>`

const sourceCells = (source: Source) => [
  nameCell(source.source_id, source.name),
  KIND_WORDS[source.kind].label,
  stateBadge(source),
  searchWords(source),
]

function searchWords({ connection_config, filter_schema }: Source) {
  if (connection_config === null) return html`<span class="note">not configured</span>`
  const filters = Object.keys(filter_schema).length
  return html`configured <span class="note">${counted(connection_config.embedding_configs.length, 'table')}, ${counted(filters, 'filter column')}</span>`
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

const askableCells = ({ id, name, description, filters, minimum_role }: z.output<typeof AskableSource>) => [
  nameCell(id, name),
  html`${description} <span class="note">for ${roleAndAbove(minimum_role)}</span>`,
  Object.keys(filters).length === 0
    ? html`<span class="note">none</span>`
    : html`<ul class="lines">${Object.entries(filters).map(([column, type]) => html`<li><code>${column}</code> <span class="note">${type}</span></li>`)}</ul>`,
]

const firstSteps = (c: C) =>
  html`<section class="card" aria-labelledby="first-steps">
    <h2 id="first-steps">No database yet: three steps to the first question</h2>
    <ol class="numbered">
      <li>
        <h3>Make a database</h3>
        <p><a href="${SOURCES_PATH}/new">Make a new one</a>${hasRole(visitOf(c), 'admin') && html`, or <a href="${SOURCES_PATH}/attach">attach a Postgres</a> you have`}. With the connection string on its page, fill a table that has a vector column: pgvector is there.</p>
      </li>
      <li>
        <h3>Say what can be searched</h3>
        <p>One call saves the search configuration, and it is checked against the database first. Put an <a href="/console/settings/tokens">API token</a> that may do everything its role allows into <code>SVC_TOKEN</code>, and your own names into the document:</p>
        ${copyable('configure', configureLine(c, 'db_NAME', SAMPLE_CONFIGURATION), 'A command that saves a search configuration')}
      </li>
      <li>
        <h3>Switch it on and expose it</h3>
        <p>On the page of the database an owner or admin switches it on as a data source and chooses the lowest role that may ask. From then on people try it there, and assistants find it.</p>
      </li>
    </ol>
    <div class="actions">${linkButton(`${SOURCES_PATH}/new`, 'Make the first database')}</div>
  </section>`
