/** The form that queries a data source with the user's own permissions, and what to do when it fails. */
import { html } from 'hono/html'
import { queryDataSource, type FilterType } from '../../../contracts/data-sources.ts'
import { ServiceError, type ErrorCode } from '../../../contracts/errors.ts'
import { HITS_DEFAULT, HITS_MAX, QUESTION_MAX_CHARACTERS } from '../../../contracts/limits.ts'
import { areaField, button, card, inputField, problemNotice, selectField } from '../../../pages/parts.ts'
import { emptyState } from '../../components.ts'
import { sessionOf, type PageContext } from '../../context.ts'
import { plural } from '../../format.ts'
import { queryResults, type Answer } from './query-results.ts'
import { pathOf } from './source-labels.ts'
import type { Askable } from './source-tabs.ts'
import { attempt, form, text } from '../../forms.ts'

/** A question shown again with its results or its problem; it is stored nowhere. */
export type Query = {
  readonly query: string
  readonly target: string
  readonly top_k: string
  readonly filters: ReadonlyMap<string, string>
  readonly answer?: Answer
  readonly problem?: ServiceError
}

export const queryCard = (c: PageContext, source: Askable, asked: Query | undefined) =>
  card(
    'Ask',
    source.targets.length === 0
      ? emptyState('Search is not configured yet', 'A developer needs to save a search configuration first.')
      : html`${problemNotice(asked?.problem, ['query', 'target', 'top_k'])} ${questionForm(c, source, asked)}
        ${asked?.answer && queryResults(asked.answer)}`,
    html`Queries run with your own permissions and are recorded under <a href="/console/activity?type=data_source">Activity</a>: who asked and how long it took, never the text.`,
  )

function questionForm(c: PageContext, { id, targets, filters }: Askable, asked: Query | undefined) {
  const columns = Object.entries(filters)
  return form(
    c,
    `${pathOf(id)}/ask#answer`,
    html`${areaField({
      name: 'query',
      label: 'Question',
      value: asked?.query ?? '',
      rows: 2,
      required: true,
      maxlength: QUESTION_MAX_CHARACTERS,
      problem: asked?.problem,
    })}
    <div class="question-parts">
      ${selectField({
        name: 'target',
        label: 'Search in',
        value: asked?.target ?? '',
        options: [
          ...(targets.length > 1 ? [{ value: '', label: 'Everything' }] : []),
          ...targets.map((value) => ({ value, label: value })),
        ],
      })}
      ${selectField({
        name: 'top_k',
        label: 'Limit',
        value: asked?.top_k ?? String(HITS_DEFAULT),
        options: HIT_CHOICES.map((count) => ({ value: String(count), label: plural(count, 'hit') })),
      })}
    </div>
    ${
      columns.length > 0 &&
      html`<fieldset class="question-filters">
        <legend>Filters</legend>
        <div class="question-parts">
          ${columns.map(([column, type], at) => filterField(`filter-${at}`, column, type, asked?.filters.get(column) ?? ''))}
        </div>
      </fieldset>`
    }
    ${button('Ask')}`,
  )
}

const HIT_CHOICES = [1, 3, 5, HITS_DEFAULT, HITS_MAX]

/** A column name is untrusted text: it names the field, but not the element. */
function filterField(id: string, column: string, type: FilterType, value: string) {
  const field = { id, name: fieldOf(column), label: column, value }
  switch (type) {
    case 'boolean':
      return selectField({
        ...field,
        options: [
          { value: '', label: 'Any' },
          { value: 'true', label: 'true' },
          { value: 'false', label: 'false' },
        ],
      })
    case 'number':
      return inputField({ ...field, type: 'number', autocomplete: 'off' })
    case 'string':
      return inputField({ ...field, autocomplete: 'off' })
  }
}

const fieldOf = (column: string): string => `filter:${column}`

export async function runQuery(c: PageContext, source: Askable): Promise<Query> {
  const fields = c.get('form')
  const submitted = {
    query: text(fields, 'query'),
    target: text(fields, 'target'),
    top_k: text(fields, 'top_k'),
    filters: new Map(
      Object.keys(source.filters)
        .map((column) => [column, text(fields, fieldOf(column)).trim()] as const)
        .filter(([, value]) => value !== ''),
    ),
  }
  const started = performance.now()
  const result = await attempt(() =>
    sessionOf(c).call(queryDataSource, {
      source_id: source.id,
      query: submitted.query,
      // As they were typed: the gateway reads a text as the type of its column, or says why it cannot.
      filters: Object.fromEntries(submitted.filters),
      target: submitted.target || undefined,
      top_k: submitted.top_k === '' ? undefined : Number(submitted.top_k),
    }),
  )
  return 'problem' in result
    ? { ...submitted, problem: withAdvice(result.problem) }
    : { ...submitted, answer: { ...result.done, ms: Math.round(performance.now() - started) } }
}

const ADVICE: Partial<Record<ErrorCode, { message?: string; hint: string }>> = {
  INVALID_REQUEST: { hint: 'Correct the problems listed here and ask again.' },
  FILTER_NOT_ALLOWED: { hint: 'Use the available filters with values of the right type.' },
  TOO_LARGE: { hint: 'Shorten the question or its filters and ask again.' },
  FORBIDDEN: { hint: 'Ask an owner or admin of the organization for a higher role.' },
  NOT_FOUND: {
    message: 'This data source is not available',
    hint: 'It was hidden, turned off or removed. Reload the page to see its current status.',
  },
  NO_SEMANTIC_SEARCH: { hint: 'A developer needs to save a search configuration first.' },
  INVALID_SEARCH_CONFIGURATION: {
    hint: 'The database has changed. A developer needs to update the search configuration.',
  },
  RATE_LIMITED: { hint: 'The limit applies to the whole organization, including assistants.' },
  QUOTA_EXCEEDED: { hint: 'The limit applies to the whole organization, including assistants.' },
  EMBEDDING_UNAVAILABLE: {
    hint: 'Nothing was searched. Try again later. If the problem persists, contact the operator of this installation.',
  },
  SOURCE_FAILED: {
    hint: 'The database refused or failed; whoever keeps it can find out why. Other data sources are not affected.',
  },
  TIMEOUT: { hint: 'Try again with a filter or in a single table.' },
  UNEXPECTED: { hint: 'Try again. If the problem persists, contact the operator of this installation.' },
}

export function withAdvice(error: ServiceError): ServiceError {
  const advice = ADVICE[error.code]
  return new ServiceError(error.code, advice?.message ?? error.message, {
    hint: error.hint ?? advice?.hint,
    problems: error.problems,
    retryAfterSeconds: error.retryAfterSeconds,
  })
}
