/** The list of data sources: every database for developers, what they can query for everybody else. */
import { html } from 'hono/html'
import type * as z from 'zod'
import {
  listAskableDataSources,
  listDataSources,
  type AskableSource,
} from '../../../contracts/data-sources.ts'
import { linkButton } from '../../../pages/parts.ts'
import { listOf } from '../../list-of.ts'
import { page } from '../../layout.ts'
import { copyable, emptyState, listCard } from '../../components.ts'
import { plural } from '../../format.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { LOAD_FILE_PATH } from './load-file.ts'
import { NEW_DOCUMENTS_PATH } from './source-documents.ts'
import { healthBadge } from './source-health.ts'
import {
  configureCommand,
  KIND_LABELS,
  pathOf,
  roleAndAbove,
  SAMPLE_CONFIGURATION,
  SOURCES_PATH,
  stateBadge,
  type Source,
} from './source-labels.ts'

export const dataSourceListRoutes = () =>
  createRoutes().get('/data-sources', (c) =>
    organizationOf(c) && hasRole(sessionOf(c), 'developer') ? showAll(c) : showAskable(c),
  )

const search = { search: { label: 'Name' } }
const ALL = listOf(listDataSources, search)
const ASKABLE = listOf(listAskableDataSources, search)

async function showAll(c: PageContext) {
  const session = sessionOf(c)
  const listed = await ALL.call(c, {})
  const { data_sources: sources } = listed
  // Where none was checked it would be a column of nothing.
  const isChecked = sources.some(({ health }) => healthBadge(health) !== '')
  return page(c, {
    title: 'Data sources',
    lead: `Databases of ${organizationOf(c).name} and who can query them.`,
    actions: html`${hasRole(session, 'admin') && linkButton(`${SOURCES_PATH}/attach`, 'Attach Postgres', 'quiet')}
    ${sources.length > 0 && searchLink} ${linkButton(`${SOURCES_PATH}/new`, 'New database', 'quiet')} ${linkButton(NEW_DOCUMENTS_PATH, 'New documents source', 'quiet')} ${linkButton(LOAD_FILE_PATH, 'Load a file')}`,
    body: isEmpty(c, sources)
      ? firstSteps(c)
      : listCard(c, {
          ...ALL.parts(c, listed),
          noun: 'data sources',
          caption: 'Data sources, by name',
          columns: ['Data source', 'Kind', 'Status', ...(isChecked ? ['Health'] : []), 'Search'],
          rows: sources.map((source) => sourceRow(source, isChecked)),
        }),
  })
}

async function showAskable(c: PageContext) {
  const listed = await ASKABLE.call(c, {})
  const { data_sources: sources } = listed
  return page(c, {
    title: 'Data sources',
    lead: `Data sources you can query in ${organizationOf(c).name}, here or through an assistant.`,
    actions: isEmpty(c, sources) ? undefined : searchLink,
    body: isEmpty(c, sources)
      ? emptyState(
          'No data sources yet',
          'Data sources are listed here once an owner or admin exposes them to your role.',
        )
      : listCard(c, {
          ...ASKABLE.parts(c, listed),
          noun: 'data sources',
          caption: 'Data sources you can query, by name',
          columns: ['Data source', 'Description', 'Filters'],
          rows: sources.map(askableRow),
        }),
  })
}

const isEmpty = (c: PageContext, sources: readonly unknown[]): boolean =>
  sources.length === 0 && !ALL.isFiltered(c) && c.req.query('cursor') === undefined

const searchLink = linkButton(`${SOURCES_PATH}/search`, 'Search all', 'quiet')

const nameCell = (id: string, name: string) =>
  html`<div class="two-lines"><a class="subject" href="${pathOf(id)}">${name}</a><code class="note">${id}</code></div>`

const sourceRow = (source: Source, isChecked: boolean) => [
  nameCell(source.source_id, source.name),
  KIND_LABELS[source.kind].label,
  stateBadge(source),
  ...(isChecked ? [healthBadge(source.health)] : []),
  searchSummary(source),
]

function searchSummary({ connection_config, filter_schema }: Source) {
  if (connection_config === null) return html`<span class="note">Not configured</span>`
  const filters = Object.keys(filter_schema).length
  return html`Configured <span class="note">${plural(connection_config.embedding_configs.length, 'table')}, ${plural(filters, 'filter column')}</span>`
}

const askableRow = ({ id, name, description, filters, minimum_role }: z.output<typeof AskableSource>) => [
  nameCell(id, name),
  html`${description} <span class="note">for ${roleAndAbove(minimum_role)}</span>`,
  Object.keys(filters).length === 0
    ? html`<span class="note">None</span>`
    : html`<ul class="lines">${Object.entries(filters).map(([column, type]) => html`<li><code>${column}</code> <span class="note">${type}</span></li>`)}</ul>`,
]

const firstSteps = (c: PageContext) =>
  html`<section class="card" aria-labelledby="first-steps">
    <h2 id="first-steps">Get started with data sources</h2>
    <p>The short way: <a href="${LOAD_FILE_PATH}">load a CSV file</a>, or <a href="${NEW_DOCUMENTS_PATH}">upload documents</a>, and ask. With a database of your own:</p>
    <ol class="numbered">
      <li>
        <h3>Create a database</h3>
        <p><a href="${SOURCES_PATH}/new">Create a new one</a>${hasRole(sessionOf(c), 'admin') && html`, or <a href="${SOURCES_PATH}/attach">attach an existing Postgres</a>`}. Use the connection string on its page to fill a table with a vector column; pgvector is included.</p>
      </li>
      <li>
        <h3>Configure search</h3>
        <p>Save a search configuration with one API call; it is validated against the database first. Set <code>SVC_TOKEN</code> to an <a href="/console/settings/tokens">API token</a> with all permissions of its role, and replace the names with your own:</p>
        ${copyable('configure', configureCommand(c, 'db_NAME', SAMPLE_CONFIGURATION), 'Command that saves a search configuration')}
      </li>
      <li>
        <h3>Turn it on and expose it</h3>
        <p>On the database page, an owner or admin turns it on as a data source and chooses the minimum role. People can then query it there and through their assistants.</p>
      </li>
    </ol>
    <div class="actions">${linkButton(`${SOURCES_PATH}/new`, 'Create database')}</div>
  </section>`
