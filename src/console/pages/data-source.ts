/** One data source: try it, see who may ask it and what it searches; those who build it also describe and open it. */
import { Hono, type Context } from 'hono'
import { html } from 'hono/html'
import type * as z from 'zod'
import { describeDataSource, listAskableSources, showDataSource } from '../../contracts/data-sources.ts'
import { showConnection } from '../../contracts/databases.ts'
import { notFound, ServiceError } from '../../contracts/errors.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { areaField, button, card, inputField, linkButton, notice, problemNotice } from '../../pages/parts.ts'
import { attempt, statusOf } from '../attempt.ts'
import { leaveFlash } from '../flash.ts'
import { page } from '../layout.ts'
import { copyable, day, form } from '../parts.ts'
import { hasRole, organizationOf, text, visitOf, type ConsoleEnv } from '../visit.ts'
import { configurationCard } from './source-configuration.ts'
import { exposeSource, exposureCard, switchSource } from './source-exposure.ts'
import {
  databaseOf,
  KIND_WORDS,
  pathOf,
  roleAndAbove,
  sourceIdFrom,
  stateBadge,
  type Source,
} from './source-words.ts'
import { ask, tryCard, type Askable, type Tried } from './try-source.ts'

type C = Context<ConsoleEnv>
type Connection = z.output<typeof showConnection.output>

/** What a form of the page left behind. */
type Outcome = {
  tried?: Tried
  described?: { name: string; description: string; problem: ServiceError }
  connection?: { done: Connection } | { problem: ServiceError }
}

export const dataSourcePages = () =>
  new Hono<ConsoleEnv>()
    .get('/data-sources/:id', (c) => show(c))
    .post('/data-sources/:id', describe)
    .post('/data-sources/:id/ask', (c) => show(c, 'ask'))
    .post('/data-sources/:id/connection', openConnection)
    .post('/data-sources/:id/state', switchSource)
    .post('/data-sources/:id/exposure', exposeSource)
    // Answers that are not redirects leave their address behind; reloaded by hand it leads back.
    .get('/data-sources/:id/ask', (c) => c.redirect(pathOf(sourceIdFrom(c)), 302))
    .get('/data-sources/:id/connection', (c) => c.redirect(pathOf(sourceIdFrom(c)), 302))

const show = (c: C, doing?: 'ask') => {
  organizationOf(c)
  return hasRole(visitOf(c), 'developer') ? showForBuilders(c, doing) : showForAskers(c, doing)
}

async function showForBuilders(c: C, doing: 'ask' | undefined) {
  const source = await sourceOf(c)
  return builderPage(c, source, doing === 'ask' ? { tried: await ask(c, askableOf(source)) } : {})
}

const sourceOf = (c: C): Promise<Source> => visitOf(c).call(showDataSource, { source_id: sourceIdFrom(c) })

const askableOf = (source: Source): Askable => ({
  id: source.source_id,
  name: source.name,
  minimum_role: source.minimum_role,
  filters: source.filter_schema,
  targets: source.connection_config?.embedding_configs.map(({ label }) => label) ?? [],
  description: source.description,
})

/** They may not read sources, only ask them: at most 100 are exposed, so one page of the list holds every one. */
async function showForAskers(c: C, doing: 'ask' | undefined) {
  const id = sourceIdFrom(c)
  const { data_sources } = await visitOf(c).call(listAskableSources, { limit: PAGE_MAX })
  const source = data_sources.find((one) => one.id === id)
  if (!source) throw notFound()
  const tried = doing === 'ask' ? await ask(c, source) : undefined
  return page(c, {
    title: source.name,
    lead: html`<code>${source.id}</code>, for ${roleAndAbove(source.minimum_role)}${source.description && html`<br />${source.description}`}`,
    actions: activityLink(source.id),
    status: statusOf(tried?.problem),
    body: tryCard(c, source, tried),
  })
}

const activityLink = (id: string) =>
  linkButton(
    `/console/activity?${new URLSearchParams({ type: 'data_source', source: id })}`,
    'Activity',
    'quiet',
  )

function builderPage(c: C, source: Source, { tried, described, connection }: Outcome) {
  const refused = connection && 'problem' in connection ? connection.problem : undefined
  return page(c, {
    title: source.name,
    lead: html`<code>${source.source_id}</code> ${stateBadge(source)}${source.description && html`<br />${source.description}`}`,
    actions: activityLink(source.source_id),
    status: statusOf(tried?.problem ?? described?.problem ?? refused),
    body: html`
      ${connection && 'done' in connection && connectionShown(connection.done)}
      ${source.exposed || tried ? whoMayTry(c, source, tried) : null}
      ${exposureCard(c, source)} ${configurationCard(c, source)} ${describeCard(c, source, described)}
      ${databaseCard(c, source, refused)}
    `,
  })
}

const whoMayTry = (c: C, source: Source, tried: Tried | undefined) =>
  hasRole(visitOf(c), source.minimum_role) || tried
    ? tryCard(c, askableOf(source), tried)
    : card(
        'Try it',
        html`<p>Only ${roleAndAbove(source.minimum_role)} may ask this source; you configure it, and cannot ask it.</p>`,
      )

const describeCard = (c: C, source: Source, typed: Outcome['described']) =>
  card(
    'Name and description',
    html`${problemNotice(typed?.problem, ['name', 'description'])}
    ${form(
      c,
      pathOf(source.source_id),
      html`${inputField({
        name: 'name',
        label: 'Name',
        value: typed?.name ?? source.name,
        required: true,
        maxlength: 120,
        autocomplete: 'off',
        problem: typed?.problem,
      })}
      ${areaField({
        name: 'description',
        label: 'Description',
        value: typed?.description ?? source.description,
        rows: 3,
        maxlength: 1_000,
        hint: 'What can be found in it, and what cannot.',
        problem: typed?.problem,
      })}
      ${button('Save')}`,
      'stack',
    )}`,
    'What people and assistants read when they choose whom to ask.',
  )

async function describe(c: C) {
  const source_id = sourceIdFrom(c)
  const fields = c.get('form')
  const typed = { name: text(fields, 'name').trim(), description: text(fields, 'description').trim() }
  const tried = await attempt(() => visitOf(c).call(describeDataSource, { source_id, ...typed }))
  if ('problem' in tried) {
    return builderPage(c, await sourceOf(c), { described: { ...typed, problem: tried.problem } })
  }
  leaveFlash(c, 'done', 'Saved.')
  return c.redirect(pathOf(tried.done.source_id), 303)
}

const databaseCard = (c: C, source: Source, problem: ServiceError | undefined) =>
  card(
    'Database',
    html`<dl class="pairs">
        <div><dt>Kind</dt><dd>${KIND_WORDS[source.kind].label}: ${KIND_WORDS[source.kind].about}</dd></div>
        <div><dt>Ids</dt><dd><code>${source.source_id}</code>, <code>${source.id}</code></dd></div>
        <div><dt>Since</dt><dd>${day(source.created_at)}</dd></div>
      </dl>
      ${problemNotice(problem)}
      <div class="actions">
        ${
          source.kind !== 'attached' &&
          source.ready &&
          form(c, `${pathOf(source.source_id)}/connection`, button('Connection string', 'quiet'))
        }
        ${hasRole(visitOf(c), 'admin') && linkButton(`${pathOf(source.source_id)}/remove`, source.kind === 'attached' ? 'Let go of it…' : 'Remove it…', 'quiet')}
      </div>
      ${source.kind === 'attached' ? html`<p class="note">Its connection string was sealed when it was attached and is never shown again.</p>` : html`<p class="note">Reading the connection string is written into the audit trail.</p>`}`,
  )

async function openConnection(c: C) {
  const source = await sourceOf(c)
  const tried = await attempt(async () => {
    if (source.kind === 'attached') {
      throw new ServiceError('CONFLICT', 'The connection string of an attached database is never shown again')
    }
    return visitOf(c).call(showConnection, { name: databaseOf(source) })
  })
  return builderPage(c, source, { connection: tried })
}

/** Shown in this answer and nowhere else: not in a cookie, not in an address. Folded, for whoever looks over a shoulder. */
const connectionShown = ({ url, host, port, database, user }: Connection) =>
  card(
    'Connection string',
    html`${notice('info', html`<p><strong>It holds the password.</strong> Whoever has it reads and writes the database, past every minimum role.</p>`)}
      <details class="more">
        <summary>Show it</summary>
        ${copyable('connection', url, 'Connection string')}
        <p>With psql:</p>
        ${copyable('psql', `psql '${url.replaceAll("'", "'\\''")}'`, 'A command that opens the database in psql')}
      </details>
      <dl class="pairs">
        <div><dt>Server</dt><dd><code>${host}:${port}</code></dd></div>
        <div><dt>Database</dt><dd><code>${database}</code> as <code>${user}</code></dd></div>
      </dl>`,
  )
