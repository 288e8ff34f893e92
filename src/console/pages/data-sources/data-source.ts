/** One data source: query it, see who has access and what it searches; developers also describe and expose it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { updateDataSource, listAskableDataSources, showDataSource } from '../../../contracts/data-sources.ts'
import { showConnectionString } from '../../../contracts/databases.ts'
import { notFound, ServiceError } from '../../../contracts/errors.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import {
  areaField,
  button,
  card,
  inputField,
  linkButton,
  notice,
  problemNotice,
} from '../../../pages/parts.ts'
import { attempt, form, statusOf, text, formCard } from '../../forms.ts'
import { redirectWithMessage } from '../../flash.ts'
import { page } from '../../layout.ts'
import { copyable, day } from '../../components.ts'
import { createRoutes, hasRole, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { configurationCard } from './source-configuration.ts'
import { healthCard } from './source-health.ts'
import { setSourceExposure, exposureCard, setSourceState } from './source-exposure.ts'
import {
  databaseOf,
  KIND_LABELS,
  pathOf,
  roleAndAbove,
  sourceIdFrom,
  stateBadge,
  type Source,
} from './source-labels.ts'
import { runQuery, queryCard, type Askable, type Query } from './query-form.ts'

type Connection = z.output<typeof showConnectionString.output>

/** What a form of the page resulted in. */
type Outcome = {
  asked?: Query
  details?: { name: string; description: string; problem: ServiceError }
  connection?: { done: Connection } | { problem: ServiceError }
}

export const dataSourceRoutes = () =>
  createRoutes()
    .get('/data-sources/:id', (c) => show(c))
    .post('/data-sources/:id', saveDetails)
    .post('/data-sources/:id/ask', (c) => show(c, 'ask'))
    .post('/data-sources/:id/connection', revealConnectionString)
    .post('/data-sources/:id/state', setSourceState)
    .post('/data-sources/:id/exposure', setSourceExposure)
    // A form that answers without a redirect leaves its address in the browser; opened by hand it leads back.
    .get('/data-sources/:id/ask', (c) => c.redirect(pathOf(sourceIdFrom(c)), 302))
    .get('/data-sources/:id/connection', (c) => c.redirect(pathOf(sourceIdFrom(c)), 302))

const show = (c: PageContext, doing?: 'ask') => {
  organizationOf(c)
  return hasRole(sessionOf(c), 'developer') ? showForDevelopers(c, doing) : showForViewers(c, doing)
}

async function showForDevelopers(c: PageContext, doing: 'ask' | undefined) {
  const source = await sourceOf(c)
  return developerPage(c, source, doing === 'ask' ? { asked: await runQuery(c, askableOf(source)) } : {})
}

const sourceOf = (c: PageContext): Promise<Source> =>
  sessionOf(c).call(showDataSource, { source_id: sourceIdFrom(c) })

const askableOf = (source: Source): Askable => ({
  id: source.source_id,
  name: source.name,
  minimum_role: source.minimum_role,
  filters: source.filter_schema,
  targets: source.connection_config?.embedding_configs.map(({ label }) => label) ?? [],
  description: source.description,
})

/** Viewers may not read data sources, only query them: at most 100 are exposed, so one page lists all of them. */
async function showForViewers(c: PageContext, doing: 'ask' | undefined) {
  const id = sourceIdFrom(c)
  const { data_sources } = await sessionOf(c).call(listAskableDataSources, { limit: PAGE_MAX })
  const source = data_sources.find((one) => one.id === id)
  if (!source) throw notFound()
  const asked = doing === 'ask' ? await runQuery(c, source) : undefined
  return page(c, {
    title: source.name,
    lead: html`<code>${source.id}</code>, for ${roleAndAbove(source.minimum_role)}${source.description && html`<br />${source.description}`}`,
    actions: activityLink(source.id),
    status: statusOf(asked?.problem),
    body: queryCard(c, source, asked),
  })
}

const activityLink = (id: string) =>
  linkButton(
    `/console/activity?${new URLSearchParams({ type: 'data_source', source: id })}`,
    'Activity',
    'quiet',
  )

function developerPage(c: PageContext, source: Source, { asked, details, connection }: Outcome) {
  const refused = connection && 'problem' in connection ? connection.problem : undefined
  return page(c, {
    title: source.name,
    lead: html`<code>${source.source_id}</code> ${stateBadge(source)}${source.description && html`<br />${source.description}`}`,
    actions: activityLink(source.source_id),
    status: statusOf(asked?.problem ?? details?.problem ?? refused),
    body: html`
      ${connection && 'done' in connection && connectionStringCard(connection.done)}
      ${source.exposed || asked ? queryCardFor(c, source, asked) : null}
      ${exposureCard(c, source)} ${healthCard(source.health)} ${configurationCard(c, source)} ${detailsCard(c, source, details)}
      ${databaseCard(c, source, refused)}
    `,
  })
}

const queryCardFor = (c: PageContext, source: Source, asked: Query | undefined) =>
  hasRole(sessionOf(c), source.minimum_role) || asked
    ? queryCard(c, askableOf(source), asked)
    : card(
        'Try it',
        html`<p>Only ${roleAndAbove(source.minimum_role)} can query this data source. You can configure it but not query it.</p>`,
      )

const detailsCard = (c: PageContext, source: Source, submitted: Outcome['details']) =>
  formCard(c, {
    title: 'Name and description',
    lead: 'Shown to people and assistants when they choose a data source.',
    action: pathOf(source.source_id),
    problem: submitted?.problem,
    shown: ['name', 'description'],
    fields: html`${inputField({ name: 'name', label: 'Name', value: submitted?.name ?? source.name, required: true, maxlength: 120, autocomplete: 'off', problem: submitted?.problem })}
      ${areaField({
        name: 'description',
        label: 'Description',
        value: submitted?.description ?? source.description,
        rows: 3,
        maxlength: 1_000,
        hint: 'What it contains, and what it does not.',
        problem: submitted?.problem,
      })}`,
    submit: 'Save',
  })

async function saveDetails(c: PageContext) {
  const source_id = sourceIdFrom(c)
  const fields = c.get('form')
  const submitted = { name: text(fields, 'name').trim(), description: text(fields, 'description').trim() }
  const result = await attempt(() => sessionOf(c).call(updateDataSource, { source_id, ...submitted }))
  if ('problem' in result) {
    return developerPage(c, await sourceOf(c), { details: { ...submitted, problem: result.problem } })
  }
  return redirectWithMessage(c, pathOf(result.done.source_id), 'Changes saved.')
}

const databaseCard = (c: PageContext, source: Source, problem: ServiceError | undefined) =>
  card(
    'Database',
    html`<dl class="pairs">
        <div><dt>Kind</dt><dd>${KIND_LABELS[source.kind].label}: ${KIND_LABELS[source.kind].about}</dd></div>
        <div><dt>IDs</dt><dd><code>${source.source_id}</code>, <code>${source.id}</code></dd></div>
        <div><dt>Created</dt><dd>${day(source.created_at)}</dd></div>
      </dl>
      ${problemNotice(problem)}
      <div class="actions">
        ${
          source.kind !== 'attached' &&
          source.ready &&
          form(c, `${pathOf(source.source_id)}/connection`, button('Show connection string', 'quiet'), '')
        }
        ${hasRole(sessionOf(c), 'admin') && linkButton(`${pathOf(source.source_id)}/remove`, source.kind === 'attached' ? 'Detach…' : 'Remove…', 'quiet')}
      </div>
      ${source.kind === 'attached' ? html`<p class="note">The connection string was encrypted when the database was attached and cannot be shown again.</p>` : html`<p class="note">Viewing the connection string is recorded in the audit trail.</p>`}`,
  )

async function revealConnectionString(c: PageContext) {
  const source = await sourceOf(c)
  const result = await attempt(async () => {
    if (source.kind === 'attached') {
      throw new ServiceError(
        'CONFLICT',
        'The connection string of an attached database cannot be shown again',
      )
    }
    return sessionOf(c).call(showConnectionString, { name: databaseOf(source) })
  })
  return developerPage(c, source, { connection: result })
}

/** Shown in this response and nowhere else: not in a cookie, not in an address. Collapsed against shoulder surfing. */
const connectionStringCard = ({ url, host, port, database, user }: Connection) =>
  card(
    'Connection string',
    html`${notice('info', html`<p><strong>It contains the password.</strong> Anyone who has it can read and write the database, regardless of the minimum role.</p>`)}
      <details class="more">
        <summary>Reveal</summary>
        ${copyable('connection', url, 'Connection string')}
        <p>With psql:</p>
        ${copyable('psql', `psql '${url.replaceAll("'", "'\\''")}'`, 'Command that opens the database in psql')}
      </details>
      <dl class="pairs">
        <div><dt>Server</dt><dd><code>${host}:${port}</code></dd></div>
        <div><dt>Database</dt><dd><code>${database}</code> as <code>${user}</code></dd></div>
      </dl>`,
  )
