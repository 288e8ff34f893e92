/** The search configuration of a data source, with the command that replaces it. */
import { html } from 'hono/html'
import type { FilterSchema, SearchEntry } from '../../../contracts/data-sources.ts'
import { card } from '../../../pages/parts.ts'
import { pair, badge, copyable, time } from '../../components.ts'
import type { PageContext } from '../../context.ts'
import { configurationOf, configureCommand, SAMPLE_CONFIGURATION, type Source } from './source-labels.ts'

export function configurationCard(c: PageContext, source: Source) {
  const document = configurationOf(source)
  const line = configureCommand(c, source.source_id, document ?? SAMPLE_CONFIGURATION)
  return card(
    'Search configuration',
    document
      ? html`${document.connection_config.embedding_configs.map(entrySection)}
        ${filterColumns(document.filter_schema)} ${accessColumn(source)}
        <details class="more">
          <summary>Show as JSON</summary>
          ${copyable('document', JSON.stringify(document, null, 2), 'Search configuration as JSON')}
        </details>
        <details class="more">
          <summary>Replace it from a terminal</summary>
          <p>Saving replaces the whole configuration. ${TOKEN}</p>
          ${copyable('configure', line, 'Command that replaces the search configuration')}
        </details>`
      : html`<p>Replace the names with your own tables and columns. ${TOKEN}</p>
        ${copyable('configure', line, 'Command that saves a search configuration')}`,
    document
      ? html`What a query searches and which columns it returns. ${source.configured_at && html`Saved ${time(source.configured_at)}.`}`
      : 'Not configured yet. Save it with one API call; every table and column is validated against the database first.',
  )
}

const TOKEN = html`Set <code>SVC_TOKEN</code> to an <a href="/console/settings/tokens">API token</a> of a developer or above with all permissions of its role.`

export const entrySection = (one: SearchEntry) =>
  html`<section class="entry">
    <h3>${one.label} ${one.hybrid && badge('hybrid', 'on')} ${one.fetchable && badge('fetchable', 'on')}</h3>
    <dl class="pairs">
      ${pair('Table', html`<code>${one.table}</code>`)}
      ${pair('Model', one.model === undefined ? 'None: rows are found by words and filters only' : html`<code>${one.model}</code>, ${one.dimensions} dimensions in <code>${one.columns.join(', ')}</code>`)}
      ${pair('Metric', METRIC_LABELS[one.distance_metric])}
      ${pair('Returned columns', html`<ul class="chips">${contentColumns(one).map(({ name, is }) => html`<li><code>${name}</code>${is && html` <span class="note">${is}</span>`}</li>`)}</ul>`)}
      ${one.hybrid && pair('Full-text search', html`${one.text_search_language ?? 'english'}, ${one.text_search_column === undefined ? 'from the returned columns' : html`from <code>${one.text_search_column}</code>`}`)}
    </dl>
  </section>`

const METRIC_LABELS: Record<SearchEntry['distance_metric'], string> = {
  cosine: 'cosine',
  l2: 'Euclidean distance (l2)',
  inner_product: 'inner product',
}

const contentColumns = ({ content_columns }: SearchEntry) =>
  content_columns.split(',').map((name, at) => ({ name: name.trim(), is: ['ID', 'title'][at] }))

const accessColumn = ({ access_column }: Source) =>
  access_column !== null &&
  html`<section class="entry">
    <h3>Access column</h3>
    <p><code>${access_column}</code> names who sees a row. Only owners and admins can change it.</p>
  </section>`

function filterColumns(schema: FilterSchema) {
  const columns = Object.entries(schema)
  return html`<section class="entry">
    <h3>Filter columns</h3>
    ${
      columns.length === 0
        ? html`<p class="note">None. Queries cannot be filtered.</p>`
        : html`<ul class="chips">${columns.map(([name, type]) => html`<li><code>${name}</code> <span class="note">${type}</span></li>`)}</ul>`
    }
  </section>`
}
