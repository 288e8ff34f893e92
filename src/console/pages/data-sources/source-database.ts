/** The Database tab of a data source: what it is called, where it is, how to connect to it, and removing it. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { updateDataSource } from '../../../contracts/data-sources.ts'
import { showConnectionString } from '../../../contracts/databases.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { button, card, linkButton, notice, problemNotice } from '../../../pages/parts.ts'
import { copyable, day, pair } from '../../components.ts'
import { createRoutes, hasRole, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { submit } from '../../act.ts'
import { formOf, type Refused } from '../../fields.ts'
import { attempt, form, formCard, statusOf } from '../../forms.ts'
import { loadsCard } from './loads-card.ts'
import { databaseOf, KIND_LABELS, pathOf, sourceIdFrom, type Source } from './source-labels.ts'
import { readSource, sourceTab, tabPath } from './source-tabs.ts'

type Connection = z.output<typeof showConnectionString.output>

const DETAILS = formOf(updateDataSource, ['name', 'description'])

/** What a form of the page resulted in. */
type Result = { refused?: Refused; connection?: { done: Connection } | { problem: ServiceError } }

export const sourceDatabaseRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id/database', showDatabase)
    .post('/data-sources/:source_id/database', saveDetails)
    .post('/data-sources/:source_id/connection', revealConnectionString)
    // A form that answers without a redirect leaves its address in the browser; opened by hand it leads back.
    .get('/data-sources/:source_id/connection', (c) => c.redirect(tabPath(sourceIdFrom(c), 'database'), 302))

async function showDatabase(c: PageContext) {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  return databasePage(c, await readSource(c))
}

async function databasePage(c: PageContext, source: Source, { refused, connection }: Result = {}) {
  const problem = connection && 'problem' in connection ? connection.problem : undefined
  return sourceTab(c, source, 'database', {
    status: statusOf(refused?.problem ?? problem),
    body: html`${connection && 'done' in connection && connectionStringCard(connection.done)}
    ${databaseCard(c, source, problem)} ${await loadsCard(c, source)}
    ${formCard(c, {
      of: DETAILS.show({ now: source, refused }),
      title: 'Name and description',
      lead: 'Shown to people and assistants when they choose a data source.',
      action: tabPath(source.source_id, 'database'),
      submit: 'Save',
    })}`,
  })
}

const saveDetails = submit(DETAILS, {
  again: async (c, refused) => databasePage(c, await readSource(c), { refused }),
  done: ({ source_id }) => [tabPath(source_id, 'database'), 'Changes saved.'],
})

const databaseCard = (c: PageContext, source: Source, problem: ServiceError | undefined) =>
  card(
    'Database',
    html`<dl class="pairs">
        ${pair('Kind', `${KIND_LABELS[source.kind].label}: ${KIND_LABELS[source.kind].about}`)}
        ${pair('IDs', html`<code>${source.source_id}</code>, <code>${source.id}</code>`)}
        ${pair('Created', day(source.created_at))}
      </dl>
      ${problemNotice(problem)}
      <div class="actions">
        ${
          source.kind !== 'attached' &&
          !source.documents &&
          source.ready &&
          form(c, `${pathOf(source.source_id)}/connection`, button('Show connection string', 'quiet'), '')
        }
        ${hasRole(sessionOf(c), 'admin') && linkButton(`${pathOf(source.source_id)}/remove`, source.kind === 'attached' ? 'Detach…' : 'Remove…', 'quiet')}
      </div>
      ${source.documents ? html`<p class="note">Nobody connects to a documents source: it has no connection string.</p>` : source.kind === 'attached' ? html`<p class="note">The connection string was encrypted when the database was attached and cannot be shown again.</p>` : html`<p class="note">Viewing the connection string is recorded in the audit trail.</p>`}`,
  )

async function revealConnectionString(c: PageContext) {
  const source = await readSource(c)
  const result = await attempt(async () => {
    if (source.kind === 'attached') {
      throw new ServiceError(
        'CONFLICT',
        'The connection string of an attached database cannot be shown again',
      )
    }
    return sessionOf(c).call(showConnectionString, { name: databaseOf(source) })
  })
  return databasePage(c, source, { connection: result })
}

/** Shown in this response and nowhere else: not in a cookie, not in an address. Collapsed against shoulder surfing. */
const connectionStringCard = ({ url, host, port, database, user, access_column }: Connection) =>
  card(
    'Connection string',
    html`${notice('info', html`<p><strong>It contains the password.</strong> Anyone who has it can read and write the database, regardless of the minimum role.${access_column !== null && html` It reads past the access column <code>${access_column}</code>: whoever has it sees every row.`}</p>`)}
      <details class="more">
        <summary>Reveal</summary>
        ${copyable('connection', url, 'Connection string')}
        <p>With psql:</p>
        ${copyable('psql', `psql '${url.replaceAll("'", "'\\''")}'`, 'Command that opens the database in psql')}
      </details>
      <dl class="pairs">
        ${pair('Server', html`<code>${host}:${port}</code>`)}
        ${pair('Database', html`<code>${database}</code> as <code>${user}</code>`)}
      </dl>`,
  )
