/** The Search tab of a data source: what its tables hold, what is searched, and a configuration that is ready to save. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { listTables, saveSearchConfiguration, SearchConfiguration } from '../../../contracts/data-sources.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { areaField, problemNotice } from '../../../pages/parts.ts'
import { createRoutes, requireRole, sessionOf, type PageContext } from '../../context.ts'
import { setFlash } from '../../flash.ts'
import { attempt, formCard, statusOf, text } from '../../forms.ts'
import { configurationCard, entrySection } from './source-configuration.ts'
import { healthCard } from './source-health.ts'
import { configurationOf, SAMPLE_CONFIGURATION, sourceIdFrom, type Source } from './source-labels.ts'
import { readSource, sourceTab, tabPath } from './source-tabs.ts'
import { tablesCard } from './source-tables.ts'

type Submitted = { readonly document: string; readonly problem: ServiceError }
type Tables = z.output<typeof listTables.output>

/** As long as a configuration with all its entries can be. */
const DOCUMENT_MAX_CHARACTERS = 200_000

export const sourceSearchRoutes = () =>
  createRoutes()
    .get('/data-sources/:source_id/search', (c) => showSearch(c))
    .post('/data-sources/:source_id/search', save)

async function showSearch(c: PageContext, submitted?: Submitted) {
  requireRole(c, 'developer', 'Only developers and above can see how a data source is set up')
  const { call } = sessionOf(c)
  const source_id = sourceIdFrom(c)
  // A database that does not answer is a finding of this page, not its failure.
  const [source, read] = await Promise.all([readSource(c), attempt(() => call(listTables, { source_id }))])
  const tables = 'done' in read ? read.done : undefined
  return sourceTab(c, source, 'search', {
    status: statusOf(submitted?.problem),
    body: html`${'problem' in read && problemNotice(read.problem)}
    ${source.connection_config !== null && configurationCard(c, source)}
    ${'done' in read && tablesCard(read.done)} ${saveCard(c, source, tables, submitted)} ${healthCard(source.health)}`,
  })
}

function saveCard(c: PageContext, source: Source, tables: Tables | undefined, submitted?: Submitted) {
  const saved = configurationOf(source)
  const ready = tables?.suggestion ?? saved
  const isNew = entriesOf(ready) > entriesOf(saved)
  return formCard(c, {
    title: saved === null ? 'Save a configuration' : 'Change the configuration',
    lead: leadFor(saved !== null, ready !== null, isNew),
    action: tabPath(source.source_id, 'search'),
    problem: submitted?.problem,
    shown: ['document'],
    fields: html`${isNew && ready?.connection_config.embedding_configs.map(entrySection)}
      <details class="more" ${(submitted !== undefined || ready === null) && html`open`}>
        <summary>Edit as JSON</summary>
        ${areaField({
          name: 'document',
          label: 'Configuration (JSON)',
          value: submitted?.document ?? JSON.stringify(ready ?? SAMPLE_CONFIGURATION, null, 2),
          rows: 20,
          required: true,
          maxlength: DOCUMENT_MAX_CHARACTERS,
          hint: 'Only the content columns ever leave the database: the first is the ID of a hit, the second its title. Saving replaces the whole configuration, and checks it against the database first.',
          problem: submitted?.problem,
        })}
      </details>`,
    submit: 'Save configuration',
  })
}

const entriesOf = (configuration: SearchConfiguration | null): number =>
  configuration?.connection_config.embedding_configs.length ?? 0

function leadFor(isSaved: boolean, isReady: boolean, isNew: boolean): string {
  if (!isReady) return 'An example: replace the names with those of your own table.'
  if (!isSaved) return 'Made from the tables above, and ready to save.'
  return isNew
    ? 'What is saved, with the tables above that are not searched yet.'
    : 'Edit what is saved. Saving replaces all of it.'
}

async function save(c: PageContext) {
  const source_id = sourceIdFrom(c)
  const document = text(c.get('form'), 'document')
  const read = readDocument(document)
  if (read instanceof ServiceError) return showSearch(c, { document, problem: read })
  const result = await attempt(() => sessionOf(c).call(saveSearchConfiguration, { source_id, ...read }))
  if ('problem' in result) return showSearch(c, { document, problem: result.problem })
  setFlash(c, 'done', ['Configuration saved.', ...result.done.notes.map((note) => `${note}.`)].join(' '))
  return c.redirect(tabPath(result.done.source_id, 'search'), 303)
}

/** Checked here as the gateway does, so that every problem names its place in the document. */
function readDocument(document: string): SearchConfiguration | ServiceError {
  let json: unknown
  try {
    json = JSON.parse(document)
  } catch {
    return new ServiceError('INVALID_REQUEST', 'This is not JSON', {
      problems: ['document: is not valid JSON'],
    })
  }
  const read = SearchConfiguration.strict().safeParse(json)
  if (read.success) return read.data
  const problems = read.error.issues.map(({ path, message }) => `${path.join('.') || 'document'}: ${message}`)
  return new ServiceError('INVALID_REQUEST', 'This is not a search configuration', { problems })
}
