/** The search configuration of a source, to be read; it is written by one call, for which the line stands there. */
import type { Context } from 'hono'
import { html } from 'hono/html'
import type { FilterSchema, SearchEntry } from '../../contracts/data-sources.ts'
import { card, type Content } from '../../pages/parts.ts'
import { badge, copyable, time } from '../parts.ts'
import type { ConsoleEnv } from '../visit.ts'
import { configurationOf, configureLine, SAMPLE_CONFIGURATION, type Source } from './source-words.ts'

export function configurationCard(c: Context<ConsoleEnv>, source: Source) {
  const document = configurationOf(source)
  const line = configureLine(c, source.source_id, document ?? SAMPLE_CONFIGURATION)
  return card(
    'Search configuration',
    document
      ? html`${document.connection_config.embedding_configs.map(entry)}
        ${filterColumns(document.filter_schema)}
        <details class="more">
          <summary>The document as it was saved</summary>
          ${copyable('document', JSON.stringify(document, null, 2), 'Search configuration as JSON')}
        </details>
        <details class="more">
          <summary>How to replace it</summary>
          <p>A save replaces all of it: what is left out is gone. ${TOKEN}</p>
          ${copyable('configure', line, 'A command that replaces the search configuration')}
        </details>`
      : html`<p>Name the tables that can be searched, with your own words in place of these. ${TOKEN}</p>
        ${copyable('configure', line, 'A command that saves a search configuration')}`,
    document
      ? html`What a question searches and what comes back; nothing else of the database does. ${source.configured_at && html`Saved ${time(source.configured_at)}.`}`
      : 'None is saved yet, so there is nothing to ask. One call saves it, after every table and column in it was checked against the database.',
  )
}

const TOKEN = html`Put an <a href="/console/settings/tokens">API token</a> of a developer or above that may do everything its role allows into <code>SVC_TOKEN</code>.`

const entry = (one: SearchEntry) =>
  html`<section class="entry">
    <h3>${one.label} ${one.hybrid && badge('hybrid', 'on')} ${one.fetchable && badge('fetchable', 'on')}</h3>
    <dl class="pairs">
      ${pair('Table', html`<code>${one.table}</code>`)}
      ${pair('Model', html`<code>${one.model}</code>, ${one.dimensions} dimensions in <code>${one.columns.join(', ')}</code>`)}
      ${pair('Metric', METRIC_WORDS[one.distance_metric])}
      ${pair('Comes back', html`<ul class="chips">${contentColumns(one).map(({ name, is }) => html`<li><code>${name}</code>${is && html` <span class="note">${is}</span>`}</li>`)}</ul>`)}
      ${one.hybrid && pair('Full text', html`${one.text_search_language ?? 'english'}, ${one.text_search_column === undefined ? 'read off the content columns' : html`from <code>${one.text_search_column}</code>`}`)}
    </dl>
  </section>`

const pair = (term: string, about: Content) => html`<div><dt>${term}</dt><dd>${about}</dd></div>`

const METRIC_WORDS: Record<SearchEntry['distance_metric'], string> = {
  cosine: 'cosine',
  l2: 'Euclidean distance (l2)',
  inner_product: 'inner product',
}

const contentColumns = ({ content_columns }: SearchEntry) =>
  content_columns.split(',').map((name, at) => ({ name: name.trim(), is: ['the id', 'the title'][at] }))

function filterColumns(schema: FilterSchema) {
  const columns = Object.entries(schema)
  return html`<section class="entry">
    <h3>Filter columns</h3>
    ${
      columns.length === 0
        ? html`<p class="note">None: questions cannot be filtered.</p>`
        : html`<ul class="chips">${columns.map(([name, type]) => html`<li><code>${name}</code> <span class="note">${type}</span></li>`)}</ul>`
    }
  </section>`
}
